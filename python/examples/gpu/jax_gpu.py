"""JAX on CUDA: jax.nn.dot_product_attention (XLA, cuDNN), and the kernels of
jax.experimental.pallas.ops.gpu, through Triton and Mosaic GPU."""
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import functools
import warnings

import jax

import lockstep

DEVICE = jax.default_backend()

warnings.simplefilter("ignore")
XLA = """base = mma-bf16
name = jax-xla-h100
normalise = before
max = two_pass
splits = 1
scale_at = logits
exp_base = e
shift = subtract
lse = bf16
mask = select_finite
empty_row = mean_visited
masked_nan_safe = no
"""
XLA32 = XLA.replace("mma-bf16", "cpu-f32").replace("lse = bf16\n", "") + """nan = unspecified
ftz = yes
"""
TF32 = XLA32.replace("xla-h100", "xla-tf32-h100") + """operand_qk = tf32
operand_v = tf32
operand_round = faithful
p = tf32
p_round = faithful
acc_qk = mma:8,0
acc_pv = mma:8,0
"""
CUDNN = "base = mma-bf16\nname = jax-cudnn-h100\nscale_at = logits\n" + """shift = subtract
empty_row = unspecified
masked_nan_safe = no
"""
TRITON = """base = mma-bf16
name = pallas-triton-h100
scale_at = logits
shift = subtract
mask = select_finite
lse_base = 2
empty_row = mean_visited
masked_nan_safe = no
"""
MOSAIC = """base = mma-bf16
name = pallas-mosaic-h100
scale_at = q_lane
lse_base = 2
masked_nan_safe = no
"""


def refuse(call, counts=False):
    plain = ("q_seg" not in call.inputs and call.b == 1
             and call.masks[0]["kind"] in ("full", "causal"))
    causal = call.masks[0]["kind"] == "causal"
    plain = plain and not (causal and (call.offset[0] or call.sq != call.skv))
    if (call.softcap is not None or "sink" in call.inputs or call.d != call.dv
            or counts and not plain):
        raise lockstep.Unsupported("softcaps, sinks, widths that differ, masks, counts")
    return causal


@functools.partial(jax.jit, static_argnames=("scale", "implementation"))
def library(q, k, v, mask, scale, implementation):
    o, lse = jax.nn.dot_product_attention(
        *(x.swapaxes(1, 2) for x in (q, k, v)), mask=mask, scale=scale,
        implementation=implementation, return_residual=True)
    return o.swapaxes(1, 2), lse.swapaxes(1, 2).astype("float32")


def nn(q, k, v, call, implementation):
    refuse(call)
    return library(q, k, v, call.mask_dense != 0, call.scale, implementation)


def triton(q, k, v, call):
    from jax.experimental.pallas.ops.gpu import attention
    causal = refuse(call, True)
    if call.hq != call.hkv or max(call.sq, call.skv) > 64 and (call.sq % 64 or call.skv % 64):
        raise lockstep.Unsupported("groups of heads, lengths of no whole tiles")
    sizes = attention.BlockSizes(block_q=64, block_k=64)
    o, lse = attention.mha(*(x.swapaxes(1, 2) for x in (q, k, v)), None, sm_scale=call.scale,
                           causal=causal, block_sizes=sizes, return_residuals=True)
    return o.swapaxes(1, 2), lse


def mosaic(q, k, v, call, inside):
    from jax.experimental.pallas.ops.gpu import attention_mgpu
    causal = refuse(call, True)
    if call.d % 64 or call.sq % 128 or call.skv % 64:
        raise lockstep.Unsupported("lengths of no whole tiles")
    config = attention_mgpu.TuningConfig(block_q=64, block_kv=64, max_concurrent_steps=2,
                                         causal=causal)
    o, (lse,) = attention_mgpu.attention(*((x.swapaxes(1, 2)).astype(inside) for x in (
        (q * call.scale).astype(q.dtype), k, v)), config, save_residuals=True)
    return o.swapaxes(1, 2).astype(q.dtype), lse


def declared(function, profile, lane, name, *more, wants=()):
    def run(q, k, v, *, call):
        return function(q, k, v, call, *more)
    run.__name__ = name
    return lockstep.kernel(framework="jax", device=DEVICE, profile=profile, lanes=[lane],
                           wants=wants)(run)


MASK = ["mask.dense"]
xla_bf16 = declared(nn, XLA, "bf16", "xla_bf16", "xla", wants=MASK)
xla_f32 = declared(nn, TF32, "f32", "xla_f32", "xla", wants=MASK)


def nn_highest(*words):
    with jax.default_matmul_precision("highest"):
        return nn(*words)


xla_f32_highest = declared(nn_highest, XLA32, "f32", "xla_f32_highest", "xla", wants=MASK)
cudnn_bf16 = declared(nn, CUDNN, "bf16", "cudnn_bf16", "cudnn", wants=MASK)
triton_bf16 = declared(triton, TRITON, "bf16", "triton_bf16")
mosaic_bf16 = declared(mosaic, MOSAIC, "bf16", "mosaic_bf16", "bfloat16")
F16 = MOSAIC.replace("mosaic", "mosaic-f16") + """p = f16
operand_qk = f16
operand_v = f16
out_round = faithful
"""
mosaic_f16 = declared(mosaic, F16, "bf16", "mosaic_f16", "float16")
