"""The gradients of a scan in NumPy and float64, by the recurrence of
docs/ops/mamba3_scan_backward.md, all heads of a run at once."""
import copy

import numpy as np

from numpy_scan import Run, runs_of, sigmoid, turned

WEIGHTS = ("bq", "bk", "d", "psi", "zeta", "phi", "norm_weight")


def ranks_last(x):
    """[r, h, c] as weights have it, [h, r, c]."""
    return x.swapaxes(0, 1)


class Backward:
    """One run from behind: cotangents of its carry, the gradients of all tokens."""

    def __init__(self, call, x, out, index):
        self.call, self.x, self.out = call, x, out
        self.run = Run(call, x, index)
        self.theta, self.h, self.k, self.v = (
            x["dcarry_" + name][index] if call["carry_grad"] and (name != "theta" or call["s"])
            else np.zeros_like(getattr(self.run, name)) for name in ("theta", "h", "k", "v"))

    def walk(self, row, first, end):
        moments = []
        for t in range(first, end):
            before = copy.copy(self.run)
            q, o = self.run.step(row, t)
            moments.append((t, before, q, o, copy.copy(self.run)))
        for t, before, q, o, after in reversed(moments):
            self.token(row, t, before, q, o, after)

    def output_stage(self, row, t, o):
        """From dy to the cotangent of o [r, h, p]."""
        call, x, out = self.call, self.x, self.out
        root, normal = self.run.normal(o)
        y = normal * x.get("norm_weight", 1.0)
        dy = x["dy"][row, t]
        d = ranks_last(x["phi"]) * dy if call["reduce"] else dy
        if call["gate"]:
            u = self.run.gates(row, t)
            s = sigmoid(u)
            du = d * y * s * (1 + u * (1 - s))
            y, d = y * u * s, d * u * s
            out["dz"][row, t] = (ranks_last(x["zeta"]) * du if "zeta" in x else du).sum(axis=0)
            out["dzeta"] += ranks_last(du * x["z"][row, t])
        if call["reduce"]:
            out["dphi"] += ranks_last(dy * y)
        if call["norm_epsilon"] is not None:
            out["dnorm_weight"] += (d * normal).sum(axis=0)
            d = d * x["norm_weight"]
            d = (d - normal * (d * normal).mean(axis=2, keepdims=True)) / root
        return d

    def token(self, row, t, before, q, o, after):
        call, x, out = self.call, self.x, self.out
        dt, lam, alpha = self.run.weights(row, t)
        wide = (slice(None), None)
        gamma, beta = lam * dt, (1 - lam) * dt * alpha
        now, old = after.up(after.v), before.up(before.v)
        d_o = self.output_stage(row, t, o)
        self.h = self.h + np.einsum("rhp,rhn->hpn", d_o, q)
        dq = np.einsum("hpn,rhp->rhn", after.h, d_o)
        of_x = np.einsum("hpn,rhn->rhp", self.h, after.k)
        of_old = np.einsum("hpn,rhn->rhp", self.h, before.k)
        dk = gamma[wide] * np.einsum("hpn,rhp->rhn", self.h, now) + self.k
        self.k = beta[wide] * np.einsum("hpn,rhp->rhn", self.h, old)

        dx, dx_old = gamma[wide] * of_x, beta[wide] * of_old
        if call["skip"]:
            dx = dx + x["d"][wide] * d_o
            out["dd"] += (d_o * now).sum(axis=(0, 2))
        psi = ranks_last(x["psi"]) if "psi" in x else 1.0
        out["dpsi"] += ranks_last(dx * after.v + dx_old * before.v)
        out["dv"][row, t] = (psi * dx).sum(axis=0) + self.v
        self.v = (psi * dx_old).sum(axis=0)

        own, then = ((a * b).sum(axis=(0, 2)) for a, b in ((now, of_x), (old, of_old)))
        state = (self.h * before.h).sum(axis=(1, 2))
        out["da"][row, :, t] = alpha * state + beta * then
        out["dtau"][row, :, t] = dt * (own - alpha * then) * lam * (1 - lam)
        out["ddt"][row, :, t] = lam * own + (1 - lam) * alpha * then
        if call["s"]:
            self.angles(row, t, dt, (dq, q), (dk, after.k))
        for name, d, bias in (("dq", dq, "dbq"), ("dk", dk, "dbk")):
            d = turned(call, d, -after.theta)
            out[bias] += ranks_last(d)
            out[name][row, t] += d.reshape(d.shape[0], call["g"], -1, d.shape[2]).sum(axis=2)
        self.h = alpha[:, None, None] * self.h

    def angles(self, row, t, dt, *pairs):
        """The sum over this token and those after it, per turn."""
        call, x, out = self.call, self.x, self.out
        s, mimo = call["s"], call["variant"] == "mimo"
        at = np.arange(s) if mimo else 2 * np.arange(s)
        to = at + (call["n"] // 2 if mimo else 1)
        turn = sum((d[..., to] * y[..., at] - d[..., at] * y[..., to]).sum(axis=0)
                   for d, y in pairs)
        self.theta = self.theta + 2 * np.pi * turn
        rate = np.tanh(x["vartheta"][row, t])
        out["dvartheta"][row, t] = self.theta * dt[:, None] / 2 * (1 - rate * rate)
        out["ddt"][row, :, t] += (self.theta * rate).sum(axis=1) / 2


def scan_backward(call, x):
    x = {name: a.astype(np.float64) if a.dtype == np.float32 else a
         for name, a in x.items()}
    inputs = ("q", "k", "v", "a", "dt", "tau", "vartheta", "z")
    out = {"d" + name: np.zeros_like(x[name]) for name in inputs if name in x}
    shape = (call["h"], call["r"])
    made = {"bq": shape + (call["n"],), "bk": shape + (call["n"],), "d": (call["h"],),
            "norm_weight": (call["h"], call["p"])}
    for name in WEIGHTS:
        out["d" + name] = np.zeros(made.get(name, shape + (call["p"],)))
    left = []
    with np.errstate(all="ignore"):
        for index, (row, first, end) in enumerate(runs_of(call, x)):
            back = Backward(call, x, out, index)
            back.walk(row, first, end)
            left.append(back)
    for name in ("theta", "h", "k", "v"):
        if "init_" + name in x:
            out["dinit_" + name] = np.stack([getattr(back, name) for back in left])
    return {name: y for name, y in out.items() if name[1:] in x}
