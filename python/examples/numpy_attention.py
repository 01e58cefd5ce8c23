"""Softcap attention in NumPy: whole rows, in binary32 as NumPy computes it."""
import numpy as np

import lockstep

PROFILE = """base = cpu-f32
name = numpy
max = two_pass
splits = 1
masked_nan_safe = no
nan = unspecified
"""


@lockstep.kernel(op="attention_forward", profile=PROFILE, wants=["mask.dense"],
                 lanes=["f32"])
def attend(q, k, v, *, call):
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    with np.errstate(all="ignore"):
        z = np.float32(call.scale) * (q @ k.swapaxes(2, 3))
        if call.softcap:
            cap = np.float32(call.softcap)
            z = cap * np.tanh(z / cap)
        z = np.where(call.mask_dense, z, -np.inf)
        top = z.max(-1, keepdims=True, initial=-np.inf)
        sink = None
        if "sink" in call.inputs:
            sink = call.sink[None, :, None, None]
            top = np.maximum(top, sink)
        safe = np.where(np.isneginf(top), np.float32(0), top)
        p = np.exp(z - safe)
        total = p.sum(-1, keepdims=True)
        if sink is not None:
            total = total + np.exp(sink - safe)
        o = np.where(total > 0, (p @ v) / total, np.float32(0))
        return o.astype(q.dtype), (safe + np.log(total))[..., 0]
