#!/usr/bin/env python3
"""Kernels in NumPy and float64 that answer exported calls:

  numpy_kernels.py DIR [BUG]     (DIR as `lockstep export` wrote it)

BUG plants a fault: `drop_key` hides the last key from every row of attention,
`window_17` shows it the key 17 before its query,
`drop_carry` starts every run of a scan from zeros, `drop_dcarry` lets what it leaves
have no cotangent, `twice_other` is another answer every second time.
"""
import sys

import numpy as np

from numpy_gradients import scan_backward
from numpy_scan import scan, ssd_scan


def attention(call, x):
    """Softcap attention; rows that meet NaN or infinity behind the mask are
    computed once more from the keys that they see."""
    q, k, v = (x[name].astype(np.float64) for name in "qkv")
    group = call["hq"] // call["hkv"]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    sees = np.broadcast_to(x["mask.dense"], q.shape[:3] + k.shape[2:3])
    with np.errstate(all="ignore"):
        s = q @ k.swapaxes(2, 3) * call["scale"]
        if call["softcap"]:
            s = call["softcap"] * np.tanh(s / call["softcap"])
        s = np.where(sees, s, -np.inf)
        if "sink" in x:
            sink = x["sink"].astype(np.float64)[None, :, None, None]
            s = np.append(s, np.broadcast_to(sink, s.shape[:3] + (1,)), axis=3)
        top = s.max(axis=3, keepdims=True)
        top = np.where(top == -np.inf, 0.0, top)
        w = np.exp(s - top)
        total = w.sum(axis=3, keepdims=True)
        lse = (np.log(total) + top)[..., 0]
        w = w[..., :v.shape[2]] / np.where(total == 0, 1.0, total)
        o = w @ v
        for at in zip(*np.nonzero(np.isnan(o).any(axis=3))):
            keys = np.flatnonzero(sees[at])
            o[at] = w[at][keys] @ v[at[:2]][keys]
    return {"o": o, "lse": lse}


def attention_backward(call, x):
    """The gradients of softcap attention from the o and lse that are given."""
    group = call["hq"] // call["hkv"]
    sees = np.broadcast_to(x["mask.dense"], (call["b"], call["hq"], call["sq"], call["skv"])) != 0
    counts = x["lse"] > -np.inf
    bad = ~(x["lse"] < np.inf)
    seen = sees & counts[..., None]
    # What nobody sees may hold anything.
    q, o, d_o = (np.where(seen.any(axis=3)[..., None], x[name].astype(np.float64), 0.0)
                 for name in ("q", "o", "do"))
    reached = seen.any(axis=2).reshape(call["b"], call["hkv"], group, -1).any(axis=2)
    k, v = (np.repeat(np.where(reached[..., None], x[name].astype(np.float64), 0.0), group, axis=1)
            for name in "kv")
    with np.errstate(all="ignore"):
        z = q @ k.swapaxes(2, 3) * call["scale"]
        u, slope = z, 1.0
        if call["softcap"]:
            y = np.tanh(z / call["softcap"])
            u, slope = call["softcap"] * y, 1.0 - y * y
        lse = np.where(counts & ~bad, x["lse"].astype(np.float64), 0.0)
        p = np.where(seen, np.where(bad[..., None], np.nan, np.exp(u - lse[..., None])), 0.0)
        delta = (d_o * o).sum(axis=3)
        if "dlse" in x:
            delta = delta - x["dlse"]
        ds = np.where(seen, p * (d_o @ v.swapaxes(2, 3) - delta[..., None]) * slope, 0.0)
        fold = lambda y: y.reshape((call["b"], call["hkv"], group) + y.shape[2:]).sum(axis=2)
        out = {"dq": ds @ k * call["scale"],
               "dk": fold(ds.swapaxes(2, 3) @ q) * call["scale"],
               "dv": fold(p.swapaxes(2, 3) @ d_o)}
        if "sink" in x:
            sink = np.exp(x["sink"].astype(np.float64)[None, :, None] - lse)
            sink = np.where(counts, np.where(bad, np.nan, sink * delta), 0.0)
            out["dsink"] = -sink.sum(axis=(0, 2))
    return out


def attention_merge(call, x):
    """Parts of attention, put together by their lse."""
    lse, o = x["lse_parts"].astype(np.float64), x["o_parts"].astype(np.float64)
    unit = np.log(2.0) if call["base"] == "2" else 1.0
    seen = lse > -np.inf
    some = seen.any(axis=0)
    with np.errstate(all="ignore"):
        bad = (seen & ~(lse < np.inf)).any(axis=0)
        top = np.where(some, np.where(seen, lse, -np.inf).max(axis=0), 0.0)
        w = np.where(seen, np.exp((lse - top) * unit), 0.0)
        total = np.where(some, w.sum(axis=0), 1.0)
        # What saw no key may hold anything.
        merged = (w[..., None] * np.where(seen[..., None], o, 0.0)).sum(axis=0) / total[..., None]
        out = np.where(some, top + np.log(total) / unit, -np.inf)
    return {"o": np.where(bad[..., None], np.nan, merged), "lse": np.where(bad, np.nan, out)}


def lists(active):
    """num [h, rows] and indices [h, rows, columns] of the tiles that are."""
    order = np.argsort(~active, axis=2, kind="stable")
    return active.sum(axis=2).astype(np.int32), order.astype(np.int32)


def plan(call, x):
    """BlockMask lists; other dialects are not supported."""
    if call["dialect"] != "block_mask":
        return None
    mask = x["mask"]
    bq, bk = call["bq"], call["bk"]
    padded = np.pad(mask, ((0, 0), (0, -mask.shape[1] % bq), (0, -mask.shape[2] % bk)))
    h, sq, skv = padded.shape
    counts = padded.reshape(h, sq // bq, bq, skv // bk, bk).sum(axis=(2, 4))
    full, some = counts == bq * bk, (counts > 0) & (counts < bq * bk)
    tables = {}
    for name, active in (("kv", some), ("full_kv", full), ("q", some.swapaxes(1, 2)),
                         ("full_q", full.swapaxes(1, 2))):
        tables[name + "_num_blocks"], tables[name + "_indices"] = lists(active)
    return tables


KERNELS = {"attention_forward": attention, "attention_backward": attention_backward,
           "attention_merge": attention_merge,
           "mamba3_scan": scan, "mamba3_scan_backward": scan_backward,
           "mamba3_step": scan, "ssd_scan": ssd_scan, "block_plan": plan}


def with_bug(kernel, bug=""):
    """The same kernel with a fault of a few lines."""
    calls_before = []

    def wrong(call, x):
        calls_before.append(call)
        if bug == "drop_key" and "mask.dense" in x:
            x["mask.dense"][..., -1] = False
        if bug == "window_17":
            rows, keys = np.indices(x["mask.dense"].shape[2:])
            x["mask.dense"][..., rows - keys == 17] = True
        if bug in ("drop_carry", "drop_dcarry"):
            begin = {"drop_carry": "init_", "drop_dcarry": "dcarry_"}[bug]
            x.update({n: np.zeros_like(a) for n, a in x.items() if n.startswith(begin)})
        out = kernel(call, x)
        if bug == "twice_other" and len(calls_before) % 2 == 0:
            out = {name: np.nextafter(np.float32(a), np.inf) for name, a in out.items()}
        return out

    return wrong


# The glue that a kernel of somebody's needs.
def answer(call, x):
    return KERNELS[call["op"]](call, x)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    import lockstep_calls
    lockstep_calls.run(with_bug(answer, *sys.argv[2:]))
