"""Kernels for host_test.py: a right one, and one for each way to be wrong."""
import ctypes
import os
import sys

import numpy as np

import lockstep

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..", folder)
                for folder in ("python/examples", "tests/host")]
import numpy_gradients  # noqa: E402
from numpy_attention import PROFILE, attend  # noqa: E402

PROFILE_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "numpy.profile")

marked = lockstep.kernel(profile=PROFILE, wants=["mask.dense"], lanes=["f32"])


@marked
def in_place(q, k, v, *, call, out):
    o, lse = attend(q, k, v, call=call)
    out["o"][...] = o
    out["lse"][...] = lse


@lockstep.kernel(profile=PROFILE + "claims = split\n", wants=["mask.dense"], lanes=["f32"],
                 splits=[1, 4])
def by_splits(q, k, v, *, call):
    o, lse = attend(q, k, v, call=call)
    if call.splits == 4:
        o.view(np.uint32)[..., 0, 0] ^= 1
    return o, lse


@marked
def unwritten(q, k, v, *, call, out):
    before = out["o"].view(np.uint32)[..., -1, -1].copy()
    in_place(q, k, v, call=call, out=out)
    out["o"].view(np.uint32)[..., -1, -1] = before


@marked
def wrong_number(q, k, v, *, call):
    o, lse = attend(q, k, v, call=call)
    o[..., 0, 0] += np.float32(0.25)
    return o, lse


@marked
def lse_in_bits(q, k, v, *, call):
    """The logarithm to base 2."""
    o, lse = attend(q, k, v, call=call)
    return o, lse * np.float32(np.log2(np.e))


def _scan_gradients(call, inputs):
    scalars = {**call.scalars, "norm_epsilon": call.norm_epsilon}
    made = numpy_gradients.scan_backward(scalars, inputs)
    return [made[name].astype(np.float32) for name in call.outputs]


gradients = lockstep.kernel(op="mamba3_scan_backward", profile="scan-f32", lanes=["f32"])


@gradients
def scan_gradients(q, k, v, dy, *, call):
    return _scan_gradients(call, call.inputs)


@gradients
def scan_gradients_without_skip(q, k, v, dy, *, call):
    """D does not reach dv."""
    return _scan_gradients(call, {**call.inputs, "d": np.zeros_like(call.inputs["d"])})


# P and dS in bf16 between f32 tensors, and dq, dk and dv of the o and lse that its
# own forward pass leaves.
OWN_FORWARD = """base = cpu-f32
name = own-forward
max = two_pass
p = bf16
grad.p = bf16
grad.ds = bf16
grad.from = own
"""


def _in_bf16(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).view(np.float32).astype(np.float64)


def _by_autograd(q, k, v, do, call, forward_cap):
    group = call.hq // call.hkv
    wide = lambda x: np.repeat(x.astype(np.float64), group, axis=1)
    q, k, v, do = q.astype(np.float64), wide(k), wide(v), do.astype(np.float64)
    sees = np.broadcast_to(call.mask_dense != 0, q.shape[:3] + k.shape[2:3])
    z = q @ k.swapaxes(2, 3) * call.scale
    t = np.tanh(z / call.softcap) if call.softcap else 0 * z
    s = np.where(sees, call.softcap * t if call.softcap else z, -np.inf)
    scores = s if forward_cap else np.where(sees, z, -np.inf)
    top = scores.max(axis=3, keepdims=True)
    w = np.exp(scores - top)
    o = (_in_bf16(w) @ v / w.sum(axis=3, keepdims=True)).astype(np.float32)
    lse = (np.log(w.sum(axis=3)) + top[..., 0]).astype(np.float32)
    p = np.exp(s - lse[..., None].astype(np.float64))
    delta = (do * o).sum(axis=3, keepdims=True)
    ds = _in_bf16(p * (do @ v.swapaxes(2, 3) - delta) * (1 - t * t))
    heads = lambda x: x.reshape((call.b, call.hkv, group) + x.shape[2:]).sum(axis=2)
    made = {"dq": ds @ k * call.scale, "dk": heads(ds.swapaxes(2, 3) @ q) * call.scale,
            "dv": heads(_in_bf16(p).swapaxes(2, 3) @ do), "own_o": o, "own_lse": lse}
    return [made[name].astype(np.float32) for name in call.outputs]


own_forward = lockstep.kernel(op="attention_backward", profile=OWN_FORWARD,
                              wants=["mask.dense"], lanes=["f32"])


@own_forward
def autograd(q, k, v, o, lse, do, *, call):
    return _by_autograd(q, k, v, do, call, forward_cap=True)


@own_forward
def autograd_uncapped(q, k, v, o, lse, do, *, call):
    """The forward pass knows no cap."""
    return _by_autograd(q, k, v, do, call, forward_cap=False)


_seen = set()


def _wrong_after(what, many, q, k, v, call):
    """Wrong from the first call on by which this process has seen so many."""
    o, lse = attend(q, k, v, call=call)
    if what is not None:
        _seen.add(what)
    return (o + np.float32(0.25) if len(_seen) >= many else o), lse


@marked
def wrong_after_a_long_one(q, k, v, *, call):
    return _wrong_after("long" if call.skv >= 6 else None, 1, q, k, v, call)


@marked
def wrong_after_many_cases(q, k, v, *, call):
    return _wrong_after(call.case, 100, q, k, v, call)


@marked
def raises(q, k, v, *, call):
    raise ValueError("no luck\nat all")


@marked
def says_how_threads_wait(q, k, v, *, call):
    raise ValueError("threads wait: " + os.environ.get("OMP_WAIT_POLICY", "unsaid"))


@marked
def raises_half_a_character(q, k, v, *, call):
    raise ValueError("no \udc80 here")


@marked
def three_arrays(q, k, v, *, call):
    o, lse = attend(q, k, v, call=call)
    return o, lse, lse


@marked
def wrong_shape(q, k, v, *, call):
    o, lse = attend(q, k, v, call=call)
    return o, lse[..., None]


@marked
def wrong_dtype(q, k, v, *, call):
    o, lse = attend(q, k, v, call=call)
    return o.astype(np.float64), lse


@marked
def alias_of_input(q, k, v, *, call):
    return q[..., :call.dv], attend(q, k, v, call=call)[1]


_KEPT = {}


@marked
def alias_of_before(q, k, v, *, call):
    o, lse = attend(q, k, v, call=call)
    kept = _KEPT.setdefault(o.shape, np.empty_like(o))
    kept[...] = o
    return kept, lse


@marked
def writes_inputs(q, k, v, *, call):
    q[...] = 0
    return attend(q, k, v, call=call)


@marked
def rounds_up(q, k, v, *, call):
    answer = attend(q, k, v, call=call)
    ctypes.CDLL("libm.so.6").fesetround(0x800)
    return answer


@marked
def leaves(q, k, v, *, call):
    sys.exit(0)


@marked
def leaves_at_once(q, k, v, *, call):
    os._exit(0)


@marked
def crashes(q, k, v, *, call):
    ctypes.string_at(0)


@marked
def refuses(q, k, v, *, call):
    raise lockstep.Unsupported("every case")


@marked
def lies(q, k, v, *, call):
    call.receipt["seconds"] = -1
    return attend(q, k, v, call=call)


@lockstep.kernel(profile=PROFILE, lanes=["f32"])
def by_terms(q, k, v, *, call):
    """The mask from its terms, pair by pair, in place of mask.dense."""
    rows, keys = np.arange(call.sq)[:, None], np.arange(call.skv)[None]
    call.inputs["mask.dense"] = np.stack([
        np.stack([call.visible(b, h, rows, keys) for h in range(call.hq)])
        for b in range(call.b)])
    return attend(q, k, v, call=call)


@lockstep.kernel(op="block_plan")
def plan(mask, *, call):
    """The lists of block_mask from the mask of every pair."""
    rows, keys = -(-call.sq // call.bq), -(-call.skv // call.bk)
    tables = {}
    for turned in (False, True):
        for kind in ("", "full_"):
            name = kind + ("q" if turned else "kv")
            lists = np.zeros((call.hq, *((keys, rows) if turned else (rows, keys))), np.int32)
            counts = np.zeros(lists.shape[:2], np.int32)
            for h in range(call.hq):
                for i in range(rows):
                    for j in range(keys):
                        tile = mask[h, i * call.bq:(i + 1) * call.bq,
                                    j * call.bk:(j + 1) * call.bk]
                        whole = tile.all() and tile.shape == (call.bq, call.bk)
                        if whole == bool(kind) and tile.any():
                            at, what = (j, i) if turned else (i, j)
                            lists[h, at, counts[h, at]] = what
                            counts[h, at] += 1
            tables[name + "_num_blocks"] = counts
            tables[name + "_indices"] = lists
    return tables


if __name__ == "__main__":
    sys.exit("imported by hosts")
