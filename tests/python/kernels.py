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
def raises_half_a_character(q, k, v, *, call):
    raise ValueError("no \udc80 here")


@marked
def one_array(q, k, v, *, call):
    return attend(q, k, v, call=call)[0]


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
