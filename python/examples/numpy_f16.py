"""Softcap attention in NumPy over f16 tensors, with weights in f16. `capped` leaves the row's
maximum out where a softcap of up to 60 bounds the scores, as tokamax's Triton kernel does:
its weights are infinite above e^11.09."""
import numpy as np

import lockstep

PROFILE = """base = cpu-f32
name = numpy-f16
lane = f16
max = two_pass
p = f16
splits = 1
masked_nan_safe = no
nan = unspecified
"""


def softmax_times_v(q, k, v, call, stable):
    if "sink" in call.inputs:
        raise lockstep.Unsupported("sinks")
    group = q.shape[1] // k.shape[1]
    q, k, v = (x.astype(np.float32) for x in (q, np.repeat(k, group, 1), np.repeat(v, group, 1)))
    with np.errstate(all="ignore"):
        z = np.float32(call.scale) * (q @ k.swapaxes(2, 3))
        if call.softcap:
            cap = np.float32(call.softcap)
            z = cap * np.tanh(z / cap)
        z = np.where(call.mask_dense, z, -np.inf)
        top = z.max(-1, keepdims=True, initial=-np.inf) if stable else np.float32(0)
        top = np.where(np.isneginf(top), np.float32(0), top)
        p = np.exp(z - top)
        total = p.sum(-1, keepdims=True)
        o = p.astype(np.float16).astype(np.float32) @ v / total
        o = np.where(total > 0, o, np.float32(0)).astype(np.float16)
        return o, (top + np.log(total))[..., 0]


@lockstep.kernel(op="attention_forward", profile=PROFILE, wants=["mask.dense"], lanes=["f16"])
def attend(q, k, v, *, call):
    return softmax_times_v(q, k, v, call, True)


@lockstep.kernel(op="attention_forward", profile=PROFILE, wants=["mask.dense"], lanes=["f16"])
def capped(q, k, v, *, call):
    return softmax_times_v(q, k, v, call, not (call.softcap and call.softcap <= 60))
