"""The numerics contract of scans, bit for bit: N14 and N15 of docs/numerics.md in NumPy.

Like contract_bits.py, it is written from the text alone. One row is one run.
"""

import numpy as np

from contract_bits import EXP2, F32, _TEXT, _table, finish, fma, fold, horner, tanh, to_lane

import re


def _constant(name):
    return F32(float.fromhex(re.search(name + r" = (\S+?)f;", _TEXT)[1]))


MAGIC = _constant("kRoundMagic")
HIGH, LOW = _constant("kLog2EHigh"), _constant("kLog2ELow")
SIN, COS = _table("kSinTurns"), _table("kCosTurns")
TWO_PI = F32(2 * np.pi)


def exp(x):
    x = np.clip(F32(x), F32(-105), F32(90))
    n = F32(fma(x, HIGH, MAGIC) - MAGIC)
    f = fma(x, LOW, fma(x, HIGH, -n))
    with np.errstate(all="ignore"):
        power = np.nan_to_num(n).astype(np.int64)
        return F32(np.ldexp(np.float64(horner(EXP2, f)), power)) + 0 * x


def sigmoid(x):
    x = F32(x)
    with np.errstate(all="ignore"):
        e = exp(-np.abs(x))
        s = F32(e / F32(F32(1) + e))
        top = np.where(x < 0, e, F32(1))
        return fma(-top, s, top)


def silu(x):
    with np.errstate(all="ignore"):
        return F32(F32(x) * sigmoid(x))


def sine_cosine(turns):
    rounded = fma(turns, F32(4), MAGIC)
    n = F32(rounded - MAGIC)
    r = fma(n, F32(-0.25), turns)
    r2 = F32(r * r)
    s = fma(r, TWO_PI, F32(r * horner(SIN, r2)))
    c = fma(r2, horner(COS, r2), F32(1))
    quarter = np.nan_to_num(n).astype(np.int64) % 4
    sine = np.choose(quarter, [s, c, -s, -c])
    cosine = np.choose(quarter, [c, -s, -c, s])
    return F32(sine), F32(cosine)


class Scan:
    """One call; `line`: keys of the case, `t`: arrays by name."""

    def __init__(self, line, t, misread=()):
        self.line, self.t, self.misread = line, t, set(misread)
        self.mimo = line.get("variant") == "mimo"
        self.q, self.k, self.v = t["q"], t["k"], t["v"]
        self.b, self.length, self.ranks, self.groups, self.n = self.q.shape
        self.heads, self.p = self.v.shape[2:]

    def reads(self, wrong):
        return wrong in self.misread

    def pairs(self):
        """The coordinates that each angle turns."""
        s = self.t["vartheta"].shape[3] if "vartheta" in self.t else 0
        if self.mimo:
            return [(i, i + self.n // 2) for i in range(s)]
        return [(2 * i, 2 * i + 1) for i in range(s)]

    def turned(self, x, angle):
        """x [r, n] turned, and rounded to the type of turned numbers."""
        x = x.copy()
        for s, (u, w) in enumerate(self.pairs()):
            sine, cosine = angle[0][s], angle[1][s]
            first = fma(x[:, u], cosine, -F32(x[:, w] * sine))
            x[:, w] = fma(x[:, u], sine, F32(x[:, w] * cosine))
            x[:, u] = first
        return to_lane(x, self.line.get("rot", "f32"))

    def head(self, b, h):
        """y [t, r or 1, p] of a head, and its carry."""
        t, g = self.t, h // (self.heads // self.groups)
        angles = len(self.pairs())
        theta, state = np.zeros(angles, F32), np.zeros((self.n, self.p), F32)
        k_before = np.zeros((self.ranks, self.n), F32)
        v_before = np.zeros(self.p, F32)
        if "init_h" in t:
            theta, state = t["init_theta"][b, h], t["init_h"][b, h].T.copy()
            k_before, v_before = t["init_k"][b, :, h], t["init_v"][b, h]
        rows = []
        for at in range(self.length):
            dt, lam = t["dt"][b, h, at], sigmoid(t["tau"][b, h, at])
            alpha, gamma = exp(t["a"][b, h, at]), F32(lam * dt)
            beta = F32(F32(F32(1) - lam) * dt)
            if not self.reads("beta_without_decay"):
                beta = F32(beta * alpha)
            if angles:
                theta = F32(theta + F32(F32(tanh(t["vartheta"][b, at, h]) * dt) * F32(0.5)))
                theta = F32(theta - np.floor(theta))
                theta = np.where(theta == 1, F32(0), theta)
            angle = sine_cosine(theta) if angles else None
            q, k = F32(self.q[b, at, :, g]), F32(self.k[b, at, :, g])
            if "bq" in t:
                q, k = F32(q + t["bq"][h]), F32(k + t["bk"][h])
            q, k = self.turned(q, angle), self.turned(k, angle)
            v = F32(self.v[b, at, h])
            x, x_before = self.ranked(h, v), self.ranked(h, v_before)
            state = F32(alpha * state)
            for r in range(self.ranks):
                state = fma(F32(beta * k_before[r])[:, None], x_before[r][None], state)
                state = fma(F32(gamma * k[r])[:, None], x[r][None], state)
            rows.append(self.output(b, at, h, q, state, x))
            k_before, v_before = k, v
        return np.array(rows), {"theta": theta, "h": state.T, "k": k_before, "v": v_before}

    def ranked(self, h, v):
        """x_r = psi_r v."""
        return F32(self.t["psi"][h] * v[None]) if "psi" in self.t else v[None]

    def output(self, b, at, h, q, state, x):
        t, out = self.t, []
        for r in range(self.ranks):
            o = np.zeros(self.p, F32)
            for n in range(self.n):
                o = fma(q[r, n], state[n], o)
            if "d" in t:
                o = fma(t["d"][h], x[r], o)
            if "norm_weight" in t:
                stripes = [F32(0)] * 16
                for c in range(self.p):
                    stripes[c % 16] = fma(o[c], o[c], stripes[c % 16])
                mean = F32(fold(stripes) / F32(self.p))
                inverse = F32(F32(1) / np.sqrt(F32(mean + F32(float(self.line["norm"])))))
                o = F32(F32(o * inverse) * t["norm_weight"][h])
            if "z" in t:
                z = F32(t["z"][b, at, h])
                o = F32(o * silu(F32(t["zeta"][h, r] * z) if "zeta" in t else z))
            out.append(o)
        if "phi" in t:
            y = np.zeros(self.p, F32)
            for r in range(self.ranks):
                y = fma(t["phi"][h, r], out[r], y)
            out = [y]
        return [finish(o, self.line["lane"]) for o in out]

    def results(self):
        heads = [[self.head(b, h) for h in range(self.heads)] for b in range(self.b)]
        y = np.array([[y for y, _ in row] for row in heads])  # b h t r p
        found = {"y": y.transpose(0, 2, 3, 1, 4)}
        for name in ("theta", "h", "k", "v"):
            x = np.array([[carry[name] for _, carry in row] for row in heads])
            found["carry_" + name] = x.transpose(0, 2, 1, 3) if name == "k" else x
        return found


# --- N19: gradients, from the last token of a head's run to its first. ---


def striped(pairs):
    """Sixteen stripes of fma over (index, x, y), folded as in N11."""
    stripes = [F32(0)] * 16
    for i, x, y in pairs:
        stripes[i % 16] = fma(x, y, stripes[i % 16])
    return fold(stripes)


def chain_over(rows_x, rows_y, start=None):
    """A chain along the first axis of both."""
    acc = F32(0) if start is None else start
    for x, y in zip(rows_x, rows_y):
        acc = fma(x, y, acc)
    return acc


class ScanGradients(Scan):
    """One call of the gradients: one run a row."""

    def forward(self, b, h):
        """What every token of a head has after the forward pass."""
        self.kept = []
        self.head(b, h)
        return self.kept

    def output(self, b, at, h, q, state, x):
        o = []
        for r in range(self.ranks):
            of_r = np.zeros(self.p, F32)
            for n in range(self.n):
                of_r = fma(q[r, n], state[n], of_r)
            o.append(fma(self.t["d"][h], x[r], of_r) if "d" in self.t else of_r)
        self.kept.append({"q": q, "h": state, "x": x, "o": o})
        return super().output(b, at, h, q, state, x)

    def gradients_of_head(self, b, h, sums):
        t, g = self.t, h // (self.heads // self.groups)
        kept = self.forward(b, h)
        angles = len(self.pairs())
        big_g, big_k = np.zeros((self.n, self.p), F32), np.zeros((self.ranks, self.n), F32)
        big_v, big_theta = np.zeros(self.p, F32), np.zeros(angles, F32)
        if "dcarry_h" in t:
            big_theta, big_g = t["dcarry_theta"][b, h], t["dcarry_h"][b, h].T.copy()
            big_k, big_v = t["dcarry_k"][b, :, h], t["dcarry_v"][b, h]
        own = {n: np.zeros(np.shape(sums[n][h]), F32) for n in sums}
        of_d, out = np.zeros(self.p, F32), {n: {} for n in ("dv", "dz", "da", "ddt", "dtau",
                                                           "dvartheta", "dq", "dk")}
        thetas = self.angles_of(b, h)
        for at in reversed(range(self.length)):
            one = kept[at]
            dt, lam = t["dt"][b, h, at], sigmoid(t["tau"][b, h, at])
            alpha, gamma = exp(t["a"][b, h, at]), F32(lam * dt)
            beta = F32(F32(F32(F32(1) - lam) * dt) * alpha)
            q, x, v = one["q"], one["x"], F32(self.v[b, at, h])
            k = self.keys(b, h, at, thetas)
            first = at == 0
            h_b = (t["init_h"][b, h].T if "init_h" in t else np.zeros_like(one["h"])) if first \
                else kept[at - 1]["h"]
            k_b = (t["init_k"][b, :, h] if "init_h" in t else np.zeros_like(k)) if first \
                else self.keys(b, h, at - 1, thetas)
            v_b = (t["init_v"][b, h] if "init_h" in t else np.zeros_like(v)) if first \
                else F32(self.v[b, at - 1, h])
            x_b = self.ranked(h, v_b)
            d_o = self.gradient_of_o(b, at, h, one["o"], own, out)
            m = big_g
            for r in range(self.ranks):
                m = fma(d_o[r][None], q[r][:, None], m)
            rows = range(self.ranks)
            big_q = [chain_over(one["h"].T, [F32(d) for d in d_o[r]]) for r in rows]
            a = [chain_over(m, k[r]) for r in rows]
            bb = [chain_over(m, k_b[r]) for r in rows]
            c = [chain_over(m.T, x[r]) for r in rows]
            f = [chain_over(m.T, x_b[r]) for r in rows]
            dx = [F32(gamma * a[r]) for r in rows]
            if "d" in t:
                dx = [fma(t["d"][h], d_o[r], dx[r]) for r in rows]
                for r in rows:
                    of_d = fma(d_o[r], x[r], of_d)
            dx_b = [F32(beta * bb[r]) for r in rows]
            if "psi" in t:
                out["dv"][at] = F32(big_v + chain_over(t["psi"][h], dx))
                big_v = chain_over(t["psi"][h], dx_b)
                for r in rows:
                    own["dpsi"][r] = fma(dx[r], v, own["dpsi"][r])
                    own["dpsi"][r] = fma(dx_b[r], v_b, own["dpsi"][r])
            else:
                out["dv"][at], big_v = F32(big_v + dx[0]), dx_b[0]
            dk = [F32(F32(gamma * c[r]) + big_k[r]) for r in rows]
            big_k = np.array([F32(beta * f[r]) for r in rows])
            now = striped((p, x[r][p], a[r][p]) for r in rows for p in range(self.p))
            before = striped((p, x_b[r][p], bb[r][p]) for r in rows for p in range(self.p))
            by_n = chain_over(m.T, h_b.T)
            state = striped((n, by_n[n], F32(1)) for n in range(self.n))
            decayed = F32(alpha * before)
            out["da"][at] = fma(alpha, state, F32(beta * before))
            out["dtau"][at] = F32(F32(F32(now - decayed) * dt) * F32(lam * F32(F32(1) - lam)))
            ddt = fma(F32(F32(1) - lam), decayed, F32(lam * now))
            if angles:
                big_theta = big_theta.copy()
                for s, (u, w) in enumerate(self.pairs()):
                    of = F32(0)
                    for r in rows:
                        of = fma(big_q[r][w], q[r][u], of)
                        of = fma(-big_q[r][u], q[r][w], of)
                        of = fma(dk[r][w], k[r][u], of)
                        of = fma(-dk[r][u], k[r][w], of)
                    big_theta[s] = fma(TWO_PI, of, big_theta[s])
                w = tanh(t["vartheta"][b, at, h])
                out["dvartheta"][at] = F32(F32(big_theta * F32(dt * F32(0.5)))
                                           * fma(-w, w, F32(1)))
                ddt = fma(F32(0.5), striped((s, big_theta[s], w[s]) for s in range(angles)), ddt)
            out["ddt"][at] = ddt
            for name, rows_of in (("dq", big_q), ("dk", dk)):
                back = self.turned_back(np.array(rows_of), sine_cosine(thetas[at])
                                        if angles else None)
                out[name][at] = back
                if "bq" in t:
                    own["db" + name[1]] = F32(own["db" + name[1]] + back)
            big_g = F32(alpha * m)
        if "d" in t:
            own["dd"] = striped((p, of_d[p], F32(1)) for p in range(self.p))
        for name in sums:
            sums[name][h] = F32(sums[name][h] + own[name])
        return out, {"theta": big_theta, "h": big_g.T, "k": big_k, "v": big_v}, g

    def angles_of(self, b, h):
        t = self.t
        theta = t["init_theta"][b, h] if "init_h" in t else np.zeros(len(self.pairs()), F32)
        out = []
        for at in range(self.length):
            if len(theta):
                step = F32(F32(tanh(t["vartheta"][b, at, h]) * t["dt"][b, h, at]) * F32(0.5))
                theta = F32(theta + step)
                theta = F32(theta - np.floor(theta))
                theta = np.where(theta == 1, F32(0), theta)
            out.append(theta)
        return out

    def keys(self, b, h, at, thetas):
        k = F32(self.k[b, at, :, h // (self.heads // self.groups)])
        if "bk" in self.t:
            k = F32(k + self.t["bk"][h])
        return self.turned(k, sine_cosine(thetas[at]) if len(thetas[at]) else None)

    def turned_back(self, x, angle):
        for s, (u, w) in enumerate(self.pairs()):
            sine, cosine = angle[0][s], angle[1][s]
            first = fma(x[:, u], cosine, F32(x[:, w] * sine))
            x[:, w] = fma(x[:, w], cosine, -F32(x[:, u] * sine))
            x[:, u] = first
        return x

    def gradient_of_o(self, b, at, h, o, own, out):
        """Step 1: do_r, and what it adds to gradients of z, zeta, phi and the weight."""
        t, dy, d_o = self.t, self.t["dy"][b, at, :, h], []
        dz = np.zeros(self.p, F32)
        for r in range(self.ranks):
            m = F32(dy[0] * t["phi"][h, r]) if "phi" in t else F32(dy[r])
            v, inverse = o[r], None
            if "norm_weight" in t:
                mean = F32(striped((p, v[p], v[p]) for p in range(self.p)) / F32(self.p))
                inverse = F32(F32(1) / np.sqrt(F32(mean + F32(float(self.line["norm"])))))
                v = F32(F32(v * inverse) * t["norm_weight"][h])
            y, e = v, m
            if "z" in t:
                z = F32(t["z"][b, at, h])
                u = F32(t["zeta"][h, r] * z) if "zeta" in t else z
                sigma = sigmoid(u)
                slope = F32(sigma * fma(u, F32(F32(1) - sigma), F32(1)))
                du = F32(F32(m * v) * slope)
                y, e = F32(v * silu(u)), F32(m * silu(u))
                if "zeta" in t:
                    dz = fma(du, t["zeta"][h, r], dz)
                    own["dzeta"][r] = fma(du, z, own["dzeta"][r])
                else:
                    dz = du
            if "phi" in t:
                own["dphi"][r] = fma(dy[0], y, own["dphi"][r])
            if inverse is not None:
                n = F32(o[r] * inverse)
                own["dnorm_weight"] = fma(e, n, own["dnorm_weight"])
                f = F32(e * t["norm_weight"][h])
                c = F32(striped((p, f[p], n[p]) for p in range(self.p)) / F32(self.p))
                e = F32(inverse * fma(-n, c, f))
            d_o.append(e)
        out["dz"][at] = dz
        return d_o

    def results(self):
        t, lane = self.t, self.line.get("grad", self.line["lane"])
        shared = {"d" + n: np.zeros(t[n].shape, F32) for n in
                  ("bq", "bk", "psi", "zeta", "phi", "norm_weight", "d") if n in t}
        found = {"d" + n: np.zeros(t[n].shape, F32) for n in
                 ("q", "k", "v", "z", "a", "dt", "tau", "vartheta") if n in t}
        for n in ("theta", "h", "k", "v"):
            if "init_" + n in t:
                found["dinit_" + n] = np.zeros(t["init_" + n].shape, F32)
        for b in range(self.b):
            for h in range(self.heads):
                out, carry, g = self.gradients_of_head(b, h, shared)
                for at in range(self.length):
                    for n in ("dv", "dz", "dvartheta"):
                        if n in found:
                            found[n][b, at, h] = out[n][at]
                    for n in ("da", "ddt", "dtau"):
                        found[n][b, h, at] = out[n][at]
                    for n in ("dq", "dk"):
                        found[n][b, at, :, g] = F32(found[n][b, at, :, g] + out[n][at])
                for n, x in carry.items():
                    if "dinit_" + n in found:
                        place = (b, slice(None), h) if n == "k" else (b, h)
                        found["dinit_" + n][place] = x
        narrow = ("dq", "dk", "dv", "dz", "dtau", "dvartheta")
        return {n: finish(x, lane if n in narrow else "f32")
                for n, x in {**found, **shared}.items()}
