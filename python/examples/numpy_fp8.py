"""Softcap attention in NumPy over keys and values in fp8, and q in fp8, with scales."""
import functools
import types

import numpy as np

import lockstep
from numpy_attention import PROFILE
from numpy_attention import attend as attend_plain


@functools.cache
def table(lane):
    """The 256 numbers of e4m3 or e5m2, by their bytes."""
    digits, bias = (3, 7) if lane == "e4m3" else (2, 15)
    size = np.arange(128)
    fraction, exponent = size % 2 ** digits, size >> digits
    numbers = np.where(exponent == 0, fraction * 2.0 ** (1 - bias - digits),
                       (fraction + 2 ** digits) * 2.0 ** (exponent - float(bias + digits)))
    if lane == "e4m3":
        numbers[0x7f] = np.nan
    else:
        numbers[0x7c:] = np.inf, np.nan, np.nan, np.nan
    return np.concatenate([numbers, -numbers]).astype(np.float32)


def numbers(x, lane, scale, keys):
    """x [b, heads, s, c] in fp8 -> f32; `scale` as docs/wire.md has it, or None."""
    wide = table(lane)[x.view(np.uint8)]
    if scale is None:
        return wide
    if keys > 0:
        scale = np.repeat(scale, keys, axis=2)[:, :, :x.shape[2]]
    return wide * scale[..., None]


@lockstep.kernel(op="attention_forward", profile=PROFILE.replace("= numpy", "= numpy-fp8"),
                 wants=["kvlane", "qlane", "mask.dense"], lanes=["f32"])
def attend(q, k, v, *, call):
    if "kvlane" not in call.scalars:
        raise lockstep.Unsupported("keys that are not in fp8")
    with np.errstate(all="ignore"):  # scales of keys that do not exist may be anything
        if "qlane" in call.scalars:
            q = numbers(q, call.qlane, call.inputs.get("q_scale"), call.q_scale_queries)
        k = numbers(k, call.kvlane, call.inputs.get("k_scale"), call.k_scale_keys)
        v = numbers(v, call.kvlane, call.inputs.get("v_scale"), call.v_scale_keys)
    own = types.SimpleNamespace(scale=call.scale, softcap=call.softcap, inputs=call.inputs,
                                mask_dense=call.mask_dense)
    if "sink" in call.inputs:
        own.sink = call.sink
    return attend_plain(q, k, v, call=own)
