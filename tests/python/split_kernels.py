"""Attention in parts of the keys, as decoding kernels compute it: in parts of a fixed
length, and in a number of parts that the batch decides."""
import numpy as np

import lockstep


def part(q, k, v, seen, scale):
    """o, maximum and sum over some of the keys. cumsum adds in the order of the keys."""
    z = scale * np.cumsum(q[..., None, :] * k[..., None, :, :], -1)[..., -1]
    z = np.where(seen, z, np.float32(-1e30))
    top = z.max(-1, keepdims=True)
    p = np.where(seen, np.exp(z - top), np.float32(0))
    weighted = np.where(seen[..., None], p[..., None] * v[..., None, :, :], np.float32(0))
    return np.cumsum(weighted, -2)[..., -1, :], top, np.cumsum(p, -1)[..., -1:]


def merged(q, k, v, call, bounds):
    if call.softcap or "sink" in call.inputs:
        raise lockstep.Unsupported("softcaps and sinks")
    group = call.hq // call.hkv
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    seen = np.broadcast_to(call.mask_dense != 0, (call.b, call.hq, call.sq, call.skv))
    o, top, total = 0, np.float32(-1e30), 0
    for begin, end in zip(bounds, bounds[1:]):
        more, high, weight = part(q, k[:, :, begin:end], v[:, :, begin:end],
                                  seen[..., begin:end], np.float32(call.scale))
        highest = np.maximum(top, high)
        old, new = np.exp(top - highest), np.exp(high - highest)
        o, top, total = o * old + more * new, highest, total * old + weight * new
    return np.where(total > 0, o / np.where(total > 0, total, 1), 0).astype(np.float32)


@lockstep.kernel(wants=["mask.dense"], lanes=["f32"])
def steady(q, k, v, *, call):
    return merged(q, k, v, call, [*range(0, call.skv, 64), call.skv])


@lockstep.kernel(wants=["mask.dense"], lanes=["f32"])
def by_batch(q, k, v, *, call):
    splits = min(call.skv, 4 if call.b < 4 else 1)  # a small batch would leave cores idle
    return merged(q, k, v, call, [n * call.skv // splits for n in range(splits + 1)])
