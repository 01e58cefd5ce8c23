"""torch.nn.functional.scaled_dot_product_attention on the CPU: the flash operator that
it dispatches to, which has an lse. No softcap, no sinks."""
import torch

import lockstep

# A product of MKL may change its bits with the address, for tensors off 16 bytes on AMD EPYC.
F32 = """base = cpu-f32
name = sdpa-cpu-f32
repeat = no
splits = 1
empty_row = zero_zero
tile_kv = 512
masked_nan_safe = no
nan = unspecified
"""
BF16 = """base = cpu-f32
name = sdpa-cpu-bf16
lane = bf16
p = bf16
exp_rel = 0x1p-13
exp_zero = weights
splits = 1
empty_row = zero_zero
tile_kv = 512
ftz = yes
masked_nan_safe = no
nan = unspecified
"""
F16 = BF16.replace("bf16", "f16")


def flash(q, k, v, call):
    if call.softcap is not None or "sink" in call.inputs:
        raise lockstep.Unsupported("softcaps and sinks")
    if call.d != call.dv:
        raise lockstep.Unsupported("values of another width than keys")
    most = q.abs().amax().double() * k.abs().amax() * call.d * max(1, abs(call.scale))
    if call.mask_bias.isinf().any() and not most <= 2.0**120:
        # -inf is added to what is masked, and leaves NaN of a score that is inf or NaN.
        raise lockstep.Unsupported("masked scores that may overflow")
    group = call.hq // call.hkv
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    # The dispatcher hands it no others, and it reads them as if they were dense.
    q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k, v))
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q, k, v, 0.0, False, attn_mask=call.mask_bias, scale=call.scale)


@lockstep.kernel(framework="torch", profile=F32, wants=["mask.bias"], lanes=["f32"])
def attend_f32(q, k, v, *, call):
    return flash(q, k, v, call)


@lockstep.kernel(framework="torch", profile=BF16, wants=["mask.bias"], lanes=["bf16"])
def attend_bf16(q, k, v, *, call):
    return flash(q, k, v, call)


@lockstep.kernel(framework="torch", profile=F16, wants=["mask.bias"], lanes=["f16"])
def attend_f16(q, k, v, *, call):
    return flash(q, k, v, call)


# Autograd of the same operator: its gradients are those of its own o and lse. Those of
# keys and values are rounded once for each query head, because heads are repeated.
@lockstep.autograd_kernel(framework="torch", profile=F32 + "grad.from = own\n",
                          wants=["mask.bias"], lanes=["f32"])
def gradients_f32(q, k, v, *, call):
    return flash(q, k, v, call)


@lockstep.autograd_kernel(
    framework="torch", wants=["mask.bias"], lanes=["bf16"],
    profile=BF16 + "grad.from = own\ngrad.p = bf16\ngrad.ds = bf16\n"
    "grad.dkv_state = bf16\ngrad.tile_q = 1048576\n")
def gradients_bf16(q, k, v, *, call):
    return flash(q, k, v, call)


@lockstep.autograd_kernel(
    framework="torch", wants=["mask.bias"], lanes=["f16"],
    profile=F16 + "grad.from = own\ngrad.p = f16\ngrad.ds = f16\n"
    "grad.dkv_state = f16\ngrad.tile_q = 1048576\n")
def gradients_f16(q, k, v, *, call):
    return flash(q, k, v, call)
