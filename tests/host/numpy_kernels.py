#!/usr/bin/env python3
"""Kernels in NumPy and float64 that answer exported calls:

  numpy_kernels.py DIR [BUG]     (DIR as `lockstep export` wrote it)

BUG plants a fault: `drop_key` hides the last key from every row of attention,
`drop_carry` starts every run of a scan from zeros, `stale` answers what the call
before had, `twice_other` another answer every second time.
"""
import sys

import numpy as np


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


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-x))


def runs_of(call, x):
    """(row, first token, one behind the last) of every run, in order."""
    if call["runs"] == "cu_seqlens":
        ends = x["cu_seqlens"]
        return [(0, int(a), int(b)) for a, b in zip(ends[:-1], ends[1:])]
    runs = []
    for row in range(call["b"]):
        cuts = [0, call["t"]]
        if call["runs"] == "segments":
            ids = x["segments"][row]
            cuts[1:1] = [int(t) + 1 for t in np.flatnonzero(ids[1:] != ids[:-1])]
        runs += [(row, a, b) for a, b in zip(cuts[:-1], cuts[1:])]
    return runs


def turned(call, x, theta):
    """Pairs of x [r, h, n] turned by theta [h, s], in turns."""
    s, n = call["s"], call["n"]
    at = np.arange(s) if call["variant"] == "mimo" else 2 * np.arange(s)
    to = at + (n // 2 if call["variant"] == "mimo" else 1)
    c, d = np.cos(2 * np.pi * theta), np.sin(2 * np.pi * theta)
    y = x.copy()
    y[..., at] = x[..., at] * c - x[..., to] * d
    y[..., to] = x[..., at] * d + x[..., to] * c
    return y


def rounded(call, x):
    """To the lane of rotated vectors."""
    if call["rotated"] == "f32":
        return x
    bits = np.ascontiguousarray(x, "<f4").view("<u4")
    bits = (bits + np.uint32(0x7fff) + (bits >> 16 & 1)) & np.uint32(0xffff0000)
    return np.where(np.isnan(x), x, bits.view("<f4").astype(np.float64))


class Run:
    """State of all heads of one run: h [h, p, n], k [r, h, n], v [h, p]."""

    def __init__(self, call, x, index):
        self.call, self.x = call, x
        heads, n, p, r = (call[name] for name in ("h", "n", "p", "r"))
        self.theta = np.zeros((heads, call["s"]))
        self.h, self.k = np.zeros((heads, p, n)), np.zeros((r, heads, n))
        self.v = np.zeros((heads, p))
        if call["carry_in"]:
            self.theta = x["init_theta"][index] if call["s"] else self.theta
            self.h, self.k = x["init_h"][index], x["init_k"][index]
            self.v = x["init_v"][index]

    def up(self, v):
        """x_r = psi_r v, [r, h, p]."""
        if "psi" not in self.x:
            return v[None]
        return self.x["psi"].swapaxes(0, 1) * v

    def vectors(self, name, row, t):
        """q or k of every head, [r, h, n], biased and rotated."""
        call, x = self.call, self.x
        y = np.repeat(x[name][row, t], call["h"] // call["g"], axis=1)
        if call["bias"]:
            y = y + x["b" + name].swapaxes(0, 1)
        return rounded(call, turned(call, y, self.theta))

    def advance(self, row, t):
        """One token; y [output ranks, h, p]."""
        call, x = self.call, self.x
        dt, lam = x["dt"][row, :, t], sigmoid(x["tau"][row, :, t])
        alpha = np.exp(x["a"][row, :, t])
        if call["s"]:
            self.theta = self.theta + np.tanh(x["vartheta"][row, t]) * dt[:, None] / 2
            self.theta = self.theta - np.floor(self.theta)
        q, k = self.vectors("q", row, t), self.vectors("k", row, t)
        old, new = self.up(self.v), self.up(x["v"][row, t])
        wide = (slice(None), None, None)
        self.h = (alpha[wide] * self.h
                  + ((1 - lam) * dt * alpha)[wide] * np.einsum("rhp,rhn->hpn", old, self.k)
                  + (lam * dt)[wide] * np.einsum("rhp,rhn->hpn", new, k))
        self.k, self.v = k, x["v"][row, t]
        o = np.einsum("hpn,rhn->rhp", self.h, q)
        if call["skip"]:
            o = o + x["d"][:, None] * new
        if call["norm_epsilon"] is not None:
            mean = (o * o).mean(axis=2, keepdims=True)
            o = o / np.sqrt(mean + call["norm_epsilon"]) * x["norm_weight"]
        if call["gate"]:
            z = x["z"][row, t][None]
            z = x["zeta"].swapaxes(0, 1) * z if "zeta" in x else z
            o = o * z * sigmoid(z)
        return (x["phi"].swapaxes(0, 1) * o).sum(0)[None] if call["reduce"] else o


def scan(call, x):
    """The recurrence of docs/ops/mamba3_scan.md, token by token."""
    x = {name: a.astype(np.float64) if a.dtype == np.float32 else a
         for name, a in x.items()}
    y = np.zeros((call["b"], call["t"], call["output_ranks"], call["h"], call["p"]))
    left = []
    with np.errstate(all="ignore"):
        for index, (row, first, end) in enumerate(runs_of(call, x)):
            run = Run(call, x, index)
            for t in range(first, end):
                y[row, t] = run.advance(row, t)
            left.append(run)
    out = {"y": y}
    for name in ("theta", "h", "k", "v") if call["s"] else ("h", "k", "v"):
        out["carry_" + name] = np.stack([getattr(run, name) for run in left])
    return out


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


def ssd_scan(call, x):
    """Mamba-2: the recurrence with lambda = 1, no angles, one rank, no carried k, v."""
    call = {**call, "r": 1, "s": 0, "output_ranks": 1, "variant": "siso", "bias": False,
            "rotated": "f32", "norm_epsilon": None, "reduce": False}
    b, t, h, n, p = (call[name] for name in ("b", "t", "h", "n", "p"))
    x = {**x, "q": x["q"][:, :, None], "k": x["k"][:, :, None],
         "tau": np.full((b, h, t), np.inf, np.float32)}
    if call["carry_in"]:
        x["init_k"] = np.zeros((call["run_count"], 1, h, n))
        x["init_v"] = np.zeros((call["run_count"], h, p))
    out = scan(call, x)
    return {"y": out["y"][:, :, 0], "carry_h": out["carry_h"]}


KERNELS = {"attention_forward": attention, "attention_backward": attention_backward, "mamba3_scan": scan,
           "mamba3_step": scan, "ssd_scan": ssd_scan, "block_plan": plan}


def with_bug(kernel, bug=""):
    """The same kernel with a fault of a few lines."""
    calls_before = []

    def wrong(call, x):
        calls_before.append(call)
        if bug == "drop_key" and "mask.dense" in x:
            x["mask.dense"][..., -1] = False
        if bug == "drop_carry":
            x.update({n: np.zeros_like(a) for n, a in x.items() if n.startswith("init_")})
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
