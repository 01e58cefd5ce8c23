"""jax.nn.dot_product_attention, its XLA implementation. No softcap, no sinks."""
import jax

import lockstep

F32 = """base = cpu-f32
name = jax-nn-f32
normalise = before
max = two_pass
splits = 1
mask = select_finite
empty_row = mean_visited
masked_nan_safe = no
nan = unspecified
lse = none
"""


@lockstep.kernel(framework="jax", profile=F32, wants=["mask.dense"], lanes=["f32"],
                 lacks=["lse"])
def attend_f32(q, k, v, *, call):
    if call.softcap is not None or "sink" in call.inputs:
        raise lockstep.Unsupported("softcaps and sinks")
    if call.d != call.dv:
        raise lockstep.Unsupported("values of another width than keys")
    # It wants tokens before heads; XLA's own compilation is part of the first call.
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    o = jax.nn.dot_product_attention(q, k, v, mask=call.mask_dense != 0, scale=call.scale,
                                     implementation="xla")
    return o.swapaxes(1, 2)
