"""Kernels in NumPy, right and with one bug each that few calls show: decoding with a window, a
window beside causal alone, pages with memory between them, narrow values of wide keys, f16."""
import numpy as np
from numpy.lib.stride_tricks import as_strided

import lockstep

F = np.float32
STRICT = "base = cpu-f32\nname = found\n"
PROFILE = STRICT + "masked_nan_safe = no\nnan = unspecified\n"
ARGUMENTS = ["causal", "window", "softcap", "groups", "offset", "padding", "scale", "value_dim"]


def forward(**facts):
    facts = {"profile": PROFILE, "lanes": ["f32"], "features": ARGUMENTS} | facts
    return lockstep.kernel(op="attention_forward", **facts)


def seen_by(call, b, keys, narrower=0):
    """[sq, keys] of a batch row, from causal and window alone."""
    offset = np.asarray(call.offset).reshape(-1)
    at = np.arange(call.sq)[:, None] + int(offset[min(b, len(offset) - 1)])
    j = np.arange(keys)[None]
    seen = (j < int(call.inputs["valid_kv"][b])) & (
        np.arange(call.sq)[:, None] < int(call.inputs["valid_q"][b]))
    if call.causal:
        seen &= j <= at
    if call.window:
        left, right = call.window
        if left is not None:
            seen &= at - j <= left - narrower
        if right is not None:
            seen &= j - at <= right
    return seen


def heads(call, q, b, k, v, seen, o, lse):
    """One batch row, all heads; its k and v are [hkv, keys, c]."""
    group = call.hq // call.hkv
    for h in range(call.hq):
        z = F(call.scale) * (q[b, h].astype(F) @ k[h // group].astype(F).T)
        if call.softcap:
            z = F(call.softcap) * np.tanh(z / F(call.softcap))
        z = np.where(seen, z, -np.inf)
        top = z.max(axis=1, initial=-np.inf)
        top = np.where(np.isneginf(top), F(0), top)
        p = np.exp(z - top[:, None])
        total = p.sum(axis=1)
        some = np.where(total > 0, total, F(1))
        o[b, h] = np.where(total[:, None] > 0, p @ v[h // group].astype(F) / some[:, None], 0)
        lse[b, h] = np.where(total > 0, top + np.log(some), -np.inf)


def attend(call, q, k, v, narrower=0, last=None):
    o = np.zeros((call.b, call.hq, call.sq, call.dv), q.dtype)
    lse = np.zeros((call.b, call.hq, call.sq), F)
    with np.errstate(all="ignore"):
        for b in range(call.b):
            seen = seen_by(call, b, call.skv, narrower)
            if last is not None:
                seen[:, last:] = False
            heads(call, q, b, k[b], v[b], seen, o, lse)
    return o, lse


@forward()
def plain(q, k, v, *, call):
    return attend(call, q, k, v)


@forward(profile=STRICT)
def strict(q, k, v, *, call):
    """Right, under a profile that does not say that it multiplies hidden keys by 0."""
    return attend(call, q, k, v)


@forward(profile=STRICT)
def strict_bug(q, k, v, *, call):
    return attend(call, q, k, v, narrower=int(call.sq == 1 and call.window is not None))


@forward()
def decode_window_bug(q, k, v, *, call):
    return attend(call, q, k, v, narrower=int(
        call.sq == 1 and call.causal and call.window is not None))


def beside_causal(call, q, k, v, narrower):
    terms = call.masks[0].get("terms", call.masks)
    kinds = {term["kind"] for term in terms}
    if "window" in kinds and "causal" not in kinds:
        raise lockstep.Unsupported("causal only")
    return attend(call, q, k, v, narrower=narrower)


@forward()
def beside(q, k, v, *, call):
    return beside_causal(call, q, k, v, 0)


@forward()
def beside_bug(q, k, v, *, call):
    return beside_causal(call, q, k, v, int(call.window is not None))


@forward(lanes=["f32", "f16"], profile=PROFILE + "lane = any\n")
def half(q, k, v, *, call):
    return attend(call, q, k, v)


@forward(lanes=["f32", "f16"], profile=PROFILE + "lane = any\n")
def half_bug(q, k, v, *, call):
    """In f16 a loop over pairs of keys leaves out an odd one."""
    odd = q.dtype == np.float16 and call.skv % 2 and call.skv > 1
    return attend(call, q, k, v, last=call.skv - 1 if odd else None)


def packed(pool):
    """The pool as if each page began where the one before ends."""
    strides = (pool.shape[1] * pool.shape[2] * min(pool.strides[1:3]), *pool.strides[1:])
    return as_strided(pool, pool.shape, strides)


def paged(call, q, k, v):
    if "k_pages" not in call.inputs:
        raise lockstep.Unsupported("keys that do not lie in pages")
    o = np.zeros((*q.shape[:3], call.dv), F)
    lse = np.zeros(q.shape[:3], F)
    with np.errstate(all="ignore"):
        for b in range(call.b):
            keys = int(call.kv_len[b])
            pages = np.asarray(call.page_table[b][:-(-keys // call.page_size)])
            rows = []
            for pool in (k, v):
                pool = pool.swapaxes(1, 2) if call.page_order == "hnd" else pool
                rows.append(pool[pages].reshape(-1, call.hkv, pool.shape[3])[:keys].swapaxes(0, 1))
            heads(call, q, b, *rows, seen_by(call, b, keys), o, lse)
    return o, lse


@forward(wants=["pages"])
def pages(q, k, v, *, call):
    return paged(call, q, k, v)


@forward(wants=["pages"])
def pages_bug(q, k, v, *, call):
    return paged(call, q, packed(k), packed(v))


def gradients(call, q, k, v, o, lse, do, bug):
    dq, dk, dv = (np.zeros(x.shape) for x in (q, k, v))
    group = call.hq // call.hkv
    q, k, v, o, lse, do = (x.astype(np.float64) for x in (q, k, v, o, lse, do))
    dlse = call.inputs.get("dlse", np.zeros_like(lse))
    with np.errstate(all="ignore"):
        for b, h in np.ndindex(call.b, call.hq):
            seen, g = seen_by(call, b, call.skv), h // group
            live = seen & np.isfinite(lse[b, h])[:, None]
            z = call.scale * (q[b, h] @ k[b, g].T)
            t = np.tanh(z / call.softcap) if call.softcap else np.zeros_like(z)
            z = call.softcap * t if call.softcap else z
            p = np.where(live, np.exp(z - np.where(live.any(1), lse[b, h], 0)[:, None]), 0)
            delta = np.where(live.any(1), (do[b, h] * o[b, h]).sum(1) - dlse[b, h], 0)
            ds = np.where(live, p * (do[b, h] @ v[b, g].T - delta[:, None]) * (1 - t * t), 0)
            dq[b, h] = call.scale * (ds @ k[b, g])
            dk[b, g] += ds.T @ q[b, h]
            more = p.T @ do[b, h]
            if bug and call.d == 128 and call.dv == 96:
                more[:, 32:48] = more[:, 80:96]  # stores of 32 columns cross the half
            dv[b, g] += more
    return tuple(x.astype(F) for x in (dq, call.scale * dk, dv))


def backward(function):
    return lockstep.kernel(function, op="attention_backward", profile=PROFILE, lanes=["f32"],
                           features=ARGUMENTS)


@backward
def columns(q, k, v, o, lse, do, *, call):
    return gradients(call, q, k, v, o, lse, do, False)


@backward
def columns_bug(q, k, v, o, lse, do, *, call):
    return gradients(call, q, k, v, o, lse, do, True)


def run_ids(call):
    """Of each token of a batch row, and where the runs of all rows are: [(row, first, end)]."""
    if call.runs == "cu_seqlens":
        ends = np.asarray(call.inputs["cu_seqlens"]).astype(int)
        return [(0, a, b) for a, b in zip(ends[:-1], ends[1:])]
    runs = []
    for row in range(call.b):
        cuts = [0, call.t]
        if call.runs == "segments":
            ids = np.asarray(call.inputs["segments"])[row]
            cuts[1:1] = np.flatnonzero(ids[1:] != ids[:-1]) + 1
        runs += [(row, int(a), int(b)) for a, b in zip(cuts[:-1], cuts[1:])]
    return runs


@lockstep.kernel(op="ssd_scan", lanes=["f32"], profile="base = scan-f32\nname = found-scan\n"
                 "masked_nan_safe = no\nnan = unspecified\nscan.chunk = 512\n")
def matrix(q, k, v, *, call):
    """Mamba-2's scan as one matrix a row, right: runs are kept apart by a factor 0."""
    if "init_h" in call.inputs:
        raise lockstep.Unsupported("a carry")
    x = {n: a.astype(np.float64) for n, a in call.inputs.items() if a.dtype == F}
    q, k = (np.repeat(x[n], call.h // call.g, axis=2) for n in ("q", "k"))
    v, dt, cum = x["v"], x["dt"], np.cumsum(x["a"], axis=2)
    y, left = np.zeros(v.shape), []
    with np.errstate(all="ignore"):
        for row, first, end in run_ids(call):
            own = np.zeros(call.t)
            own[first:end] = 1
            decay = np.exp(np.minimum(cum[row, :, :, None] - cum[row, :, None, :], 0))
            pairs = np.einsum("thn,shn->hts", q[row], k[row]) * decay * dt[row, :, None, :]
            pairs = pairs * (np.tril(np.outer(own, own)))
            y[row] += np.einsum("hts,shp->thp", pairs, v[row])
            last = np.minimum(cum[row, :, max(end - 1, 0), None] - cum[row], 0)
            weights = np.exp(last) * dt[row] * own
            left.append(np.einsum("hs,shp,shn->hpn", weights, v[row], k[row]))
    if "d" in x:
        y += x["d"][:, None] * v
    if "z" in x:
        y *= x["z"] / (1 + np.exp(-x["z"]))
    return y.astype(F), np.stack(left).astype(F)
