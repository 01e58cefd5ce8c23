"""Forward values of a scan, each token's state a sum over all tokens before it.

The decays between all pairs of tokens are written down; no recurrence.
"""

import numpy as np

from bounded_number import (EPS_EXP, EPS_TANH, EPS_TURN, TINY, U, Num, gamma,
                            sigmoid_of, total)


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
        return self.turned(x, 1.0).rounded(p.rotated)

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
