"""JAX splash attention, interpreted, with the MaskInfo that it makes itself. It scales
nothing: q is scaled here, in its own type. No sinks."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.tpu.splash_attention import (
    splash_attention_kernel as splash, splash_attention_mask as masks)

import lockstep

F32 = """base = cpu-f32
name = splash-f32
scale_at = q_lane
mask = select_finite
empty_row = mean_visited
ftz = yes
tile_kv = 128
masked_nan_safe = no
nan = unspecified
"""
BF16 = "base = splash-bf16\nname = splash-bf16-128\ntile_kv = 128\n"
TILE = 128


def padded(x, axis):
    """With zeros up to whole tiles; what is masked out there is seen by no row."""
    width = [(0, 0)] * x.ndim
    width[axis] = (0, -x.shape[axis] % TILE)
    return np.pad(np.asarray(x), width)


run = jax.jit(lambda kernel, q, k, v: kernel(q, k, v))


def attend(q, k, v, call):
    if "sink" in call.inputs:
        raise lockstep.Unsupported("sinks")
    seen = padded(padded(np.asarray(call.mask_dense) != 0, 2), 3)
    sizes = splash.BlockSizes(block_q=TILE, block_kv=TILE, block_kv_compute=TILE)
    rows = []
    for b in range(call.b):
        heads = np.broadcast_to(seen[b % len(seen)], (call.hq, *seen.shape[2:]))
        kernel = splash.make_splash_mha(
            masks.MultiHeadMask([masks.NumpyMask(head) for head in heads]),
            block_sizes=sizes, head_shards=1, q_seq_shards=1, save_residuals=True,
            attn_logits_soft_cap=call.softcap, interpret=True)
        o, (lse,) = run(kernel, padded(q[b] * jnp.asarray(call.scale, q.dtype), 1),
                        padded(k[b], 1), padded(v[b], 1))
        rows.append((o[:, :call.sq], lse[:, :call.sq]))
    return jnp.stack([o for o, _ in rows]), jnp.stack([lse for _, lse in rows])


@lockstep.kernel(framework="jax", profile=F32, wants=["mask.dense"], lanes=["f32"])
def attend_f32(q, k, v, *, call):
    return attend(q, k, v, call)


@lockstep.kernel(framework="jax", profile=BF16, wants=["mask.dense"], lanes=["bf16"])
def attend_bf16(q, k, v, *, call):
    return attend(q, k, v, call)
