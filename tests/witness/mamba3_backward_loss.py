"""A backward scan as its file says, and the loss that its gradients are of.

The forward pass runs in the frame of its token, with complex modes and without
a cumulative angle, for many inputs at once: central differences of it are a
witness for gradients that knows no formula of theirs.
"""

import numpy as np

from bounded_number import sigmoid

STEP = 1e-4
CARRY = ("theta", "h", "k", "v")
PARAMETERS = ("bq", "bk", "d", "psi", "zeta", "phi", "norm_weight")


class Problem:
    def __init__(self, tensors, metadata):
        self.t = {n: x.values.astype(np.float64) for n, x in tensors.items()}
        self.mimo = metadata["variant"] == "mimo"
        self.rotated, self.grad = metadata["rotated_lane"], metadata["grad"]
        self.norm = float(metadata.get("norm_epsilon", 0.0))
        self.b, self.length, self.r, self.g, self.n = self.t["q"].shape
        self.h, self.p = self.t["v"].shape[2:]
        self.s = self.t["vartheta"].shape[3]
        self.group = np.arange(self.h) // (self.h // self.g)
        self.first = [2 * i if not self.mimo else i for i in range(self.s)]
        self.second = [i + 1 if not self.mimo else i + self.n // 2
                       for i in self.first]
        self.runs = self.list_runs()

    def list_runs(self):
        if "cu_seqlens" in self.t:
            cu = self.t["cu_seqlens"].astype(int)
            return [(0, f, e) for f, e in zip(cu[:-1], cu[1:])]
        found = []
        for b in range(self.b):
            cut = [0]
            if "segments" in self.t:
                ids = self.t["segments"][b]
                cut += list(np.flatnonzero(ids[1:] != ids[:-1]) + 1)
            found += [(b, f, e) for f, e in zip(cut, cut[1:] + [self.length])]
        return found

    def inputs(self):
        """Names of what gradients are taken by."""
        names = [n for n in ("q", "k", "v", "a", "dt", "tau", "vartheta", "z")
                 + PARAMETERS if n in self.t]
        names += ["carry_" + n for n in CARRY if "carry_" + n in self.t]
        return [n for n in names if self.t[n].size]


def modes(p, x):
    """[..., n] -> one complex number for each pair, then what does not turn."""
    rest = [i for i in range(p.n) if i not in p.first + p.second]
    return np.concatenate([x[..., p.first] + 1j * x[..., p.second],
                           x[..., rest].astype(complex)], axis=-1)


def turns(p, angle):
    """[..., s] turns -> [..., mode] of modulus 1."""
    rest = np.ones(angle.shape[:-1] + (p.n - 2 * p.s,))
    return np.concatenate([np.exp(2j * np.pi * angle), rest], axis=-1)


class Loss:
    """x: {name: [evaluation, ...]}; all heads of a run at once."""

    def __init__(self, p, x, count):
        self.p, self.x, self.count = p, x, count
        self.value = np.zeros(count)
        for index, run in enumerate(p.runs):
            self.add_run(index, run)

    def up(self, v):
        psi = self.x.get("psi")
        return v[:, :, None] if psi is None else psi * v[:, :, None]

    def add_run(self, index, run):
        p, x, shape = self.p, self.x, (self.count, self.p.h)
        theta = np.zeros(shape + (p.s,))
        g = np.zeros(shape + (p.p, p.n - p.s), complex)
        kappa = np.zeros(shape + (p.r, p.n - p.s), complex)
        v = np.zeros(shape + (p.p,))
        if "carry_h" in x:
            theta = x["carry_theta"][:, index]
            back = np.conj(turns(p, theta))[:, :, None]
            g = modes(p, x["carry_h"][:, index]) * back
            kappa = modes(p, x["carry_k"][:, index].swapaxes(1, 2)) * back
            v = x["carry_v"][:, index]
        up = self.up(v)
        for t in range(run[1], run[2]):
            at = (slice(None), run[0], slice(None), t)
            dt, lam = x["dt"][at], sigmoid(x["tau"][at])
            alpha = np.exp(x["a"][at])
            step = np.tanh(x["vartheta"][:, run[0], t]) * dt[..., None] / 2
            theta = theta + step
            old = np.einsum("ehrp,ehrm->ehpm", up, kappa)
            xi, kappa = (modes(p, self.biased(n, run[0], t)) for n in "qk")
            v = x["v"][:, run[0], t]
            up = self.up(v)
            new = np.einsum("ehrp,ehrm->ehpm", up, kappa)
            wide = [c[:, :, None, None]
                    for c in (alpha, (1 - lam) * dt * alpha, lam * dt)]
            g = (np.conj(turns(p, step))[:, :, None]
                 * (wide[0] * g + wide[1] * old) + wide[2] * new)
            o = np.einsum("ehrm,ehpm->ehrp", np.conj(xi), g).real
            if "d" in x:
                o = o + x["d"][:, :, None, None] * up
            self.add_token(o, run[0], t)
        if "dcarry_h" in p.t:
            self.add_carry(index, theta, g, kappa, v)

    def biased(self, name, b, t):
        y = self.x[name][:, b, t][:, :, self.p.group].swapaxes(1, 2)
        return y + self.x["b" + name] if "b" + name in self.x else y

    def add_token(self, o, b, t):
        p, x = self.p, self.x
        if p.norm:
            o = o / np.sqrt(np.mean(o * o, axis=3, keepdims=True) + p.norm)
            o = o * x["norm_weight"][:, :, None]
        if "z" in x:
            z = x["z"][:, b, t][:, :, None]
            z = z * x["zeta"] if "zeta" in x else z
            o = o * z * sigmoid(z)
        if "phi" in x:
            o = np.sum(x["phi"] * o, axis=2, keepdims=True)
        self.value += np.einsum("ehrp,rhp->e", o, p.t["dy"][b, t])

    def add_carry(self, index, theta, g, kappa, v):
        p, t = self.p, self.p.t
        turn = turns(p, theta)[:, :, None]
        dh = modes(p, t["dcarry_h"][index])
        dk = modes(p, t["dcarry_k"][index].swapaxes(0, 1))
        self.value += (
            np.einsum("ehpm,hpm->e", g * turn, np.conj(dh)).real
            + np.einsum("ehrm,hrm->e", kappa * turn, np.conj(dk)).real
            + np.einsum("ehp,hp->e", v, t["dcarry_v"][index])
            + np.einsum("ehs,hs->e", theta, t["dcarry_theta"][index]))


def differences(p, places):
    """Central differences of fourth order, one for each (name, index)."""
    steps = ((1, 2.0 / 3.0), (-1, -2.0 / 3.0), (2, -1.0 / 12), (-2, 1.0 / 12))
    count = len(places) * len(steps)
    x = {n: np.broadcast_to(v, (count,) + v.shape) for n, v in p.t.items()}
    for name in {n for n, _ in places}:
        x[name] = x[name].copy()
    for i, (name, index) in enumerate(places):
        for j, (step, _) in enumerate(steps):
            x[name][(4 * i + j,) + index] += step * STEP
    value = Loss(p, x, count).value.reshape(-1, len(steps))
    return value @ np.array([w for _, w in steps]) / STEP
