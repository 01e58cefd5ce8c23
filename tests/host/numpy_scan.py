"""Scans in NumPy and float64: the recurrence of docs/ops/mamba3_scan.md, token by token."""
import numpy as np


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

    def weights(self, row, t):
        """dt, lambda, alpha of every head."""
        x = self.x
        return x["dt"][row, :, t], sigmoid(x["tau"][row, :, t]), np.exp(x["a"][row, :, t])

    def step(self, row, t):
        """One token: q of every head and what is read from the state, [r, h, n] and
        [r, h, p]."""
        call, x = self.call, self.x
        dt, lam, alpha = self.weights(row, t)
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
        return q, o

    def normal(self, o):
        """What the norm divides by, and the value before its weight."""
        if self.call["norm_epsilon"] is None:
            return 1.0, o
        root = np.sqrt((o * o).mean(axis=2, keepdims=True) + self.call["norm_epsilon"])
        return root, o / root

    def gates(self, row, t):
        """What goes into the gate, [r, h, p]."""
        z = self.x["z"][row, t][None]
        return self.x["zeta"].swapaxes(0, 1) * z if "zeta" in self.x else z

    def advance(self, row, t):
        """One token; y [output ranks, h, p]."""
        call, x = self.call, self.x
        o = self.normal(self.step(row, t)[1])[1] * x.get("norm_weight", 1.0)
        if call["gate"]:
            z = self.gates(row, t)
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
