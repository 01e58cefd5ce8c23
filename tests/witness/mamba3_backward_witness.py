#!/usr/bin/env python3
"""Third opinion on the gradients of the Mamba-3 scan: float64, two ways.

  mamba3_backward_witness.py PROGRAM     (PROGRAM DIR exports problems)

Sums over all pairs of tokens: a run's states and their cotangents are sums of
decays times outer products, not recurrences.  Every number carries a bound of
what f32 arithmetic in any order of those sums may be off by (u = 2^-24): sums
of n terms gamma_n times the sum of sizes, products u, functions their ulps.

Central differences of a forward pass in the frame of its token, which has no
cumulative angle, tie the formulas to the recurrence.

Passes (exit 0) if and only if every element of every gradient lies within its
bound around the float64 gradient; within that bound and 1e-6 of the loss's
terms around a central difference where nothing is rounded to bf16; at most a
tenth of the bounds are wider than 1e-3 of their tensor's largest element (0.1
where bf16 rounds); and every input is seen to matter: in nine of ten problems
the results are refused when that tensor is changed by 2^-6.  Exit 1 otherwise, 2 for
unreadable files.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import safetensors_file

U = 2.0 ** -24
U_BF16 = 2.0 ** -8
ULP = 2.0 ** -23
TINY = 2.0 ** -120         # underflow of any step; far below every bound
EPS_TANH, EPS_EXP, EPS_SIGMOID = (k * ULP for k in (1.768, 1.024, 1.748))
EPS_TURN = 1.05 * ULP      # sine and cosine, absolute
STEP = 1e-4
DIFFERENCE = 1e-6
SAMPLES = 2                # elements of a tensor that are differentiated
CARRY = ("theta", "h", "k", "v")
PARAMETERS = ("bq", "bk", "d", "psi", "zeta", "phi", "norm_weight")


def gamma(n):
    return n * U / (1.0 - n * U)


class Num:
    """Values in float64, and bounds of how far f32 may be off."""

    def __init__(self, v, e=None):
        self.v = np.asarray(v, np.float64)
        self.e = np.zeros(self.v.shape) if e is None else np.broadcast_to(
            np.asarray(e, np.float64), self.v.shape)

    def __getitem__(self, at):
        return Num(self.v[at], self.e[at])

    def __neg__(self):
        return Num(-self.v, self.e)

    def __add__(self, other):
        other = number(other)
        v, e = self.v + other.v, self.e + other.e
        return Num(v, e + U * (np.abs(v) + e) + TINY)

    def __sub__(self, other):
        return self + (-number(other))

    def __mul__(self, other):
        other = number(other)
        a, b = np.abs(self.v), np.abs(other.v)
        e = a * other.e + b * self.e + self.e * other.e
        return Num(self.v * other.v,
                   e + U * (a * b + e) + TINY)

    __rmul__, __radd__ = __mul__, __add__

    def rounded(self, u):
        """To a narrower lane."""
        return Num(self.v, self.e + u * (np.abs(self.v) + self.e))


def number(x):
    return x if isinstance(x, Num) else Num(x)


def total(form, n, *factors):
    """einsum of two or three factors; every sum meets at most n roundings."""
    values = [number(x) for x in factors]
    exact = np.einsum(form, *[x.v for x in values])
    largest = np.einsum(form, *[np.abs(x.v) + x.e for x in values])
    least = np.einsum(form, *[np.abs(x.v) for x in values])
    g = gamma(n + len(values))
    return Num(exact, (largest - least) + g * largest + TINY
               + 2.0 ** -45 * largest)


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def sigmoid_of(x):
    s = sigmoid(x.v)
    return Num(s, s * EPS_SIGMOID + np.minimum(0.25 * x.e, s * np.expm1(
        np.minimum(x.e, 50.0))) + TINY)


class Problem:
    def __init__(self, tensors, metadata):
        self.t = {n: x.values.astype(np.float64) for n, x in tensors.items()}
        self.mimo = metadata["variant"] == "mimo"
        self.e_rotated = U_BF16 if metadata["rotated_lane"] == "bf16" else 0.0
        self.e_out = U_BF16 if metadata["grad"] == "bf16" else 0.0
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


# --- The loss, for many inputs at once, in the frame of its token. -----------

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


# --- The gradients, a head of a run at a time. -------------------------------

class Head:
    """Forward values of one head of one run, tokens in axis 0."""

    def __init__(self, p, run, index, head):
        self.p, self.b, self.f, self.e = p, *run
        self.index, self.head, self.length = index, head, run[2] - run[1]
        t, at = p.t, (run[0], head, slice(run[1], run[2]))
        self.dt = Num(t["dt"][at])
        self.lam = sigmoid_of(Num(t["tau"][at]))
        self.rest = Num(1.0) - self.lam
        alpha = np.exp(t["a"][at])
        self.alpha = Num(alpha, alpha * EPS_EXP + TINY)
        self.gamma = self.lam * self.dt
        self.beta = self.rest * self.dt * self.alpha
        self.v = t["v"][run[0], run[1]:run[2], head]
        self.rotate()
        self.before()
        self.add_up()

    def carried(self, name, shape):
        if "carry_" + name not in self.p.t:
            return np.zeros(shape)
        x = self.p.t["carry_" + name][self.index]
        return x[:, self.head] if name == "k" else x[self.head]

    def up(self, v):
        v = Num(v)[:, None]
        return v if not self.p.mimo else v * Num(self.p.t["psi"][self.head])

    def rotate(self):
        p, t = self.p, self.p.t
        rate = np.tanh(t["vartheta"][self.b, self.f:self.e, self.head])
        self.rate = Num(rate, np.abs(rate) * EPS_TANH)
        step = rate * self.dt.v[:, None] / 2
        theta = self.carried("theta", (p.s,)) + np.cumsum(step, axis=0)
        off = np.cumsum(np.abs(step) * (EPS_TANH + 2 * U) + 2 * U + U
                        * (1 + np.abs(self.carried("theta", (p.s,)))), axis=0)
        angle = 2 * np.pi * theta
        error = 2 * np.pi * off + EPS_TURN
        self.cos, self.sin = (Num(f(angle), error) for f in (np.cos, np.sin))
        self.q, self.k = self.rotated("q"), self.rotated("k")

    def rotated(self, name):
        p = self.p
        x = Num(p.t[name][self.b, self.f:self.e, :, p.group[self.head]])
        if "b" + name in p.t:
            x = x + Num(p.t["b" + name][self.head])
        return self.turned(x, 1.0).rounded(p.e_rotated)

    def turned(self, x, way):
        """Pairs of [token, rank, n] by the angles, or back (-1)."""
        v, e = x.v.copy(), x.e.copy()
        cos, sin = self.cos[:, None], self.sin[:, None] * way
        first, second = self.p.first, self.p.second
        u, w = x[..., first], x[..., second]
        one, two = u * cos - w * sin, u * sin + w * cos
        v[..., first], e[..., first] = one.v, one.e
        v[..., second], e[..., second] = two.v, two.e
        return Num(v, e)

    def before(self):
        """k and x of the token before each, and what one token adds."""
        p = self.p
        self.x = self.up(self.v)
        first_x = self.up(self.carried("v", (p.p,))[None])
        first_k = self.carried("k", (p.r, p.n))[None]
        join = lambda a, b: Num(np.concatenate([a.v, b.v[:-1]]),
                                np.concatenate([a.e, b.e[:-1]]))
        self.x_before = join(first_x, self.x)
        self.k_before = join(Num(first_k), self.k)
        self.outer = total("trp,trn->tnp", p.r, self.x, self.k)
        self.outer_before = total("trp,trn->tnp", p.r, self.x_before,
                                  self.k_before)

    def add_up(self):
        """h of every token and of the one before, and o."""
        p, n = self.p, self.length
        a = self.p.t["a"][self.b, self.head, self.f:self.e]
        sums = np.concatenate([[0.0], np.cumsum(a)])
        late, early = np.arange(n + 1)[:, None], np.arange(n + 1)[None, :]
        decay = np.where(late >= early, np.exp(np.minimum(
            sums[:, None] - sums[None, :], 0.0)), 0.0)
        # decay[i, j]: of what is there after j tokens until after i.
        self.decay = Num(decay, np.where(
            late >= early, decay * ((late - early) * (EPS_EXP + 2 * U)
                                    + 2.0 ** -40) + TINY, 0.0))
        # Decayed by the step itself: beta includes its alpha.
        added = (self.outer_before * self.beta[:, None, None]
                 + self.outer * self.gamma[:, None, None])
        h0 = Num(self.carried("h", (p.p, p.n)).T)
        start = h0[None] * self.decay[:, 0][:, None, None]
        grown = total("ij,jnp->inp", (2 * p.r + 2) * n + 2,
                      self.decay[:, 1:], added)
        h = start + grown
        slack = gamma((2 * p.r + 2) * n + 2) * (np.abs(start.v) + start.e)
        h = Num(h.v, h.e + slack)
        self.h_before, self.h = h[:-1], h[1:]
        self.o = total("trn,tnp->trp", p.n, self.q, self.h)
        if "d" in p.t:
            self.o = self.o + self.x * p.t["d"][self.head]


def output_stage(s, out):
    """The cotangent of o, and the gradients of what follows it."""
    p, t, head = s.p, s.p.t, s.head
    dy = Num(t["dy"][s.b, s.f:s.e, :, head])
    m = dy * t["phi"][head] if "phi" in t else dy
    o = s.o
    if p.norm:
        inverse = 1.0 / np.sqrt(np.mean(o.v ** 2, 2, keepdims=True) + p.norm)
        drift = inverse * np.sqrt(np.mean(o.e ** 2, 2, keepdims=True))
        inverse = Num(inverse, inverse * (drift / np.maximum(1 - drift, 1e-9)
                                          + gamma(p.p // 16 + 14)))
        x_hat = o * inverse
        o = x_hat * t["norm_weight"][head]
    y = o
    if "z" in t:
        z = Num(t["z"][s.b, s.f:s.e, head])[:, None]
        u = z * t["zeta"][head] if p.mimo else z
        sig = sigmoid_of(u)
        gate = u * sig
        gate = Num(gate.v, gate.e + 2 * ULP * np.abs(gate.v))
        y = o * gate
        slope = sig * (u * (Num(1.0) - sig) + 1.0)
        du = m * o * slope
        if p.mimo:
            out["z"] = total("trp,rp->tp", p.r, du, t["zeta"][head])
            out["zeta"] = total("trp,tp->rp", s.length, du, z[:, 0])
        else:
            out["z"] = du[:, 0]
        m = m * gate
    if "phi" in t:
        out["phi"] = total("tp,trp->rp", s.length, dy[:, 0], y)
    if p.norm:
        out["norm_weight"] = total("trp,trp->p", s.length * p.r, m, x_hat)
        m = m * t["norm_weight"][head]
        mean = total("trp,trp->tr", p.p // 16 + 6, m, x_hat)
        mean = mean * (1.0 / p.p)
        m = inverse * (m - x_hat * mean[..., None])
    return m


def cotangents(p, index, head):
    """Of the carry that a run leaves; none without."""
    given = {c: p.t["dcarry_" + c][index] for c in CARRY
             if "dcarry_" + c in p.t}
    return {c: Num(x[:, head] if c == "k" else x[head])
            for c, x in given.items()}


def head_gradients(s):
    p, t, n, out = s.p, s.p.t, s.length, {}
    d_o = output_stage(s, out)
    dcarry = cotangents(p, s.index, s.head)
    last = lambda x, d: Num(np.concatenate([x.v[:-1], (x[-1] + d).v[None]]),
                            np.concatenate([x.e[:-1], (x[-1] + d).e[None]]))
    # m[i]: the cotangent of the state after token i.
    m = total("ji,jrp,jrn->inp", (p.r + 2) * n + 2, s.decay[1:, 1:], d_o, s.q)
    if dcarry:
        decayed = total("i,pn->inp", 2 * n, s.decay[n, 1:], dcarry["h"])
        m = Num(m.v + decayed.v, m.e + decayed.e
                + gamma(n + 2) * (np.abs(m.v) + np.abs(decayed.v)))
    dq = total("tnp,trp->trn", p.p, s.h, d_o)
    now, before = s.gamma[:, None, None], s.beta[:, None, None]
    of_x = total("tnp,trn->trp", p.n, m, s.k)
    of_x_before = total("tnp,trn->trp", p.n, m, s.k_before)
    of_k = total("tnp,trp->trn", p.p, m, s.x)
    of_k_before = total("tnp,trp->trn", p.p, m, s.x_before)

    def shifted(x):
        """What the next token gives to each."""
        late = x * before
        pad = np.zeros((1,) + x.v.shape[1:])
        return late[:1], Num(np.concatenate([late.v[1:], pad]),
                             np.concatenate([late.e[1:], pad]))

    first_x, later_x = shifted(of_x_before)
    first_k, later_k = shifted(of_k_before)
    dx, dk = of_x * now + later_x, of_k * now + later_k
    if "d" in t:
        dx = dx + d_o * t["d"][s.head]
        out["d"] = total("trp,trp->", n * p.r + p.p, d_o, s.x)
    if dcarry:
        dk = last(dk, dcarry["k"])
    start_v = Num(s.carried("v", (p.p,)))
    if p.mimo:
        psi = t["psi"][s.head]
        dv = total("trp,rp->tp", p.r, dx, psi)
        of_psi = (total("trp,tp->rp", n + 2, dx, s.v)
                  + total("rp,p->rp", 2, first_x[0], start_v))
        out["psi"] = Num(of_psi.v, of_psi.e + gamma(n + 2) * np.abs(
            first_x.v[0] * start_v.v))
        first_v = total("rp,rp->p", p.r, first_x[0], psi)
    else:
        dv, first_v = dx[:, 0], first_x[0, 0]
    out["v"] = last(dv, dcarry["v"]) if dcarry else dv
    steps(s, out, m, of_x, of_x_before)
    angles(s, out, dq, dk, dcarry)
    dq, dk = s.turned(dq, -1.0), s.turned(dk, -1.0)
    out["q"], out["k"] = dq, dk
    if "bq" in t:
        out["bq"], out["bk"] = (total("trn->rn", n, x) for x in (dq, dk))
    if "carry_h" in t:
        out["carry_h"] = (m[0] * s.alpha[0])
        out["carry_h"] = Num(out["carry_h"].v.T, out["carry_h"].e.T)
        out["carry_k"], out["carry_v"] = first_k[0], first_v
    return out


def steps(s, out, m, of_x, of_x_before):
    """Gradients of a, dt (without the angles) and tau."""
    p = s.p
    now = total("trp,trp->t", p.r + p.p, s.x, of_x)
    before = total("trp,trp->t", p.r + p.p, s.x_before, of_x_before)
    state = total("tnp,tnp->t", p.n + p.p, m, s.h_before)
    out["a"] = s.alpha * state + s.beta * before
    delta = s.alpha * before
    out["dt"] = s.rest * delta + s.lam * now
    out["tau"] = (now - delta) * s.dt * (s.lam * s.rest)


def angles(s, out, dq, dk, dcarry):
    p = s.p
    if p.s == 0:
        out["vartheta"] = Num(np.zeros((s.length, 0)))
        out["carry_theta"] = Num(np.zeros(0))
        return
    u, w = p.first, p.second
    terms = [(dq[..., w], s.q[..., u]), (-dq[..., u], s.q[..., w]),
             (dk[..., w], s.k[..., u]), (-dk[..., u], s.k[..., w])]
    parts = [total("trs,trs->ts", 4 * p.r, a, b) for a, b in terms]
    size = sum(np.abs(x.v) + x.e for x in parts)
    turn = Num(sum(x.v for x in parts), sum(x.e for x in parts)
               + gamma(4 * p.r) * size + TINY) * Num(2 * np.pi, 2e-7)
    above = np.triu(np.ones((s.length, s.length)))
    phi = total("ij,js->is", s.length + 2, above, turn)
    # The chain's partial sums, that of the carry included, may be larger.
    if dcarry:
        d = dcarry["theta"]
        phi = Num(phi.v + d.v, phi.e + gamma(s.length + 2) * np.abs(d.v))
    out["carry_theta"] = phi[0]
    out["dt"] = out["dt"] + total("ts,ts->t", p.s, phi, s.rate) * 0.5
    half = s.dt[:, None] * 0.5
    slope = Num(1.0) - s.rate * s.rate
    out["vartheta"] = phi * half * slope


def gradients(p):
    """{name: Num} for every input."""
    got = {n: [np.zeros(p.t[n].shape) for _ in range(3)] for n in p.inputs()}

    def add(name, at, x):
        if name not in got:
            return
        v, e, size = got[name]
        v[at] += x.v
        e[at] += x.e
        size[at] += np.abs(x.v) + x.e

    for index, run in enumerate(p.runs):
        b, tokens = run[0], slice(run[1], run[2])
        for head in range(p.h):
            if run[1] == run[2]:
                out = {"carry_" + c: x
                       for c, x in cotangents(p, index, head).items()}
            else:
                out = head_gradients(Head(p, run, index, head))
            for name, x in out.items():
                if name in ("q", "k"):
                    add(name, (b, tokens, slice(None), p.group[head]), x)
                elif name in ("v", "z", "vartheta"):
                    add(name, (b, tokens, head), x)
                elif name in ("a", "dt", "tau"):
                    add(name, (b, head, tokens), x)
                elif name == "carry_k":
                    add(name, (index, slice(None), head), x)
                elif name.startswith("carry_"):
                    add(name, (index, head), x)
                else:
                    add(name, (head,), x)
    count = len(p.runs) + p.h
    return {n: Num(v, e + gamma(count) * size)
            for n, (v, e, size) in got.items()}


# --- The judgement. ----------------------------------------------------------

class Tally:
    def __init__(self):
        self.elements = self.wrong = self.weak = self.differences = 0
        self.worst = {}

    def add(self, name, got, exact, bound):
        ratio = np.abs(got - exact) / (bound + TINY)
        self.elements += np.size(ratio)
        self.wrong += int(np.sum(~(ratio <= 1.0)))
        if np.size(ratio):
            self.worst[name] = max(self.worst.get(name, 0.0),
                                   float(np.max(ratio)))

    def take(self, other):
        for key in ("elements", "wrong", "weak", "differences"):
            setattr(self, key, getattr(self, key) + getattr(other, key))
        for name, ratio in other.worst.items():
            self.worst[name] = max(self.worst.get(name, 0.0), ratio)


def narrow(p, name):
    """Of the lane of gradients; the others are f32 always."""
    return name in ("q", "k", "v", "tau", "vartheta", "z") and p.e_out > 0


def judge(p):
    tally, truth = Tally(), gradients(p)
    limit = 0.1 if p.e_rotated + p.e_out else 1e-3
    for name, x in truth.items():
        if narrow(p, name):
            x = truth[name] = x.rounded(p.e_out)
        tally.add(name, p.t["grad_" + name], x.v, x.e)
        largest = np.max(np.abs(x.v), initial=0.0)
        tally.weak += int(np.sum(~(x.e <= limit * largest + 1e-30)))
    return tally, truth


def judge_differences(p, truth, rng, tally):
    places = [(n, tuple(int(rng.integers(0, m)) for m in p.t[n].shape))
              for n in p.inputs() for _ in range(SAMPLES)]
    for (name, at), slope in zip(places, differences(p, places)):
        x = truth[name]
        slack = DIFFERENCE * (1.0 + np.max(np.abs(x.v)) + abs(slope))
        tally.add("differences", p.t["grad_" + name][at], slope,
                  x.e[at] + slack)
        tally.differences += 1


def changes(tensors):
    """Each tensor changed by 2^-6."""
    for name, x in tensors.items():
        if x.dtype != "F32" or name.startswith("grad_") or not x.values.size:
            continue
        yield name, dict(tensors, **{name: x._replace(
            values=x.values * np.float32(1 + 2.0 ** -6))})


def main(program):
    total, unseen, problems = Tally(), {}, 0
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        for path in sorted(pathlib.Path(folder).iterdir()):
            tensors, metadata = safetensors_file.read(path)
            p = Problem(tensors, metadata)
            tally, truth = judge(p)
            exact = p.e_rotated + p.e_out == 0.0 and metadata["lane"] == "f32"
            if p.e_rotated == 0.0:
                judge_differences(p, truth, rng, tally)
            if tally.wrong:
                print(f"{path.name}: {tally.wrong} of {tally.elements} elements "
                      f"out of bounds, {metadata}, {tally.worst}")
            problems += 1
            total.take(tally)
            if not exact or p.length < 3 or problems % 6:
                continue
            for name, changed in changes(tensors):
                seen, tried = unseen.get(name, (0, 0))
                refused = judge(Problem(changed, metadata))[0].wrong > 0
                unseen[name] = (seen + refused, tried + 1)
    print(f"{problems} problems, {total.elements} elements of which "
          f"{total.differences} central differences, {total.wrong} out of "
          f"bounds, {total.weak} bounds weak; largest error / bound: "
          + ", ".join(f"{n} {r:.3f}" for n, r in sorted(total.worst.items())))
    print("changed and refused: " + ", ".join(
        f"{n} {s}/{t}" for n, (s, t) in sorted(unseen.items())))
    blind = [n for n, (s, t) in unseen.items() if s < 0.9 * t]
    ok = (problems >= 300 and total.wrong == 0 and total.differences > 4000
          and total.weak <= 0.1 * total.elements and len(unseen) >= 20
          and not blind)
    return 0 if ok else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    try:
        sys.exit(main(sys.argv[1]))
    except (OSError, safetensors_file.FormatError,
            subprocess.CalledProcessError) as error:
        print(f"mamba3_backward_witness: {error}", file=sys.stderr)
        sys.exit(2)
