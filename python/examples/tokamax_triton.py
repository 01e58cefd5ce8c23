"""tokamax's Pallas-Triton kernel, interpreted by Pallas on the CPU. No sinks."""
import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas

# Its op has no word for that: every kernel of this process is interpreted.
pallas.pallas_call = functools.partial(pallas.pallas_call, interpret=True)

from tokamax._src.ops.attention import pallas_triton as triton

import lockstep

F32 = """base = splash-bf16
name = tokamax-triton-f32
lane = f32
tile_kv = 32
"""
# Up to a softcap of 60 it subtracts no maximum.
CAPPED = F32.replace("triton", "triton-capped") + "max = none\n"
BF16 = F32.replace("f32", "bf16") + "p = bf16\n"
TILES = triton.Config(block_q=32, block_k=32, num_stages=1, num_warps=4)
WORDS = {"framework": "jax", "wants": ["mask.dense"]}


class Interpreted(triton.PallasTritonFlashAttention):
    def supported_on(self, device):
        return True


@functools.partial(jax.jit, static_argnums=(4, 5, 6))
def run(q, k, v, mask, scale, cap, stable):
    o, (top, total) = Interpreted(config=TILES, use_stable_softmax=stable)(
        *(x.swapaxes(1, 2) for x in (q, k, v)), mask=mask, logits_scale=scale,
        logits_soft_cap=cap, return_residuals=True)
    return o.swapaxes(1, 2), top + jnp.log(total)


def attend(q, k, v, call, stable=True):
    if "sink" in call.inputs or not (stable or (call.softcap or 99) <= 60):
        raise lockstep.Unsupported("sinks" if stable else "sinks, and softcaps above 60")
    return run(q, k, v, call.mask_dense != 0, call.scale, call.softcap, stable)


@lockstep.kernel(profile=F32, lanes=["f32"], **WORDS)
def stable_f32(q, k, v, *, call):
    return attend(q, k, v, call)


@lockstep.kernel(profile=BF16, lanes=["bf16"], **WORDS)
def stable_bf16(q, k, v, *, call):
    return attend(q, k, v, call)


@lockstep.kernel(profile=CAPPED, lanes=["f32"], **WORDS)
def capped_f32(q, k, v, *, call):
    return attend(q, k, v, call, stable=False)
