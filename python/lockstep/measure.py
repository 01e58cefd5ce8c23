"""What a kernel of attention computes, seen from outside: its weights.

With values that are ones in one channel each, o is the weights themselves. Weights of 0 show the
mask. Logarithms of the others differ from the scores by one number a row, which shows the factor
before the softcap, and the softcap. Nothing here decides a verdict: the judge asks again.
"""
import dataclasses
import math

import numpy as np

from lockstep.frameworks import dtype_of, to_framework, to_numpy

# Rows that have to fit to the last: of their logarithms, root mean square; and a fitted number.
_REST = {"f32": 2e-3, "bf16": 0.12, "f16": 0.01}
_LEAST_REST = {"f32": 2e-4, "bf16": 4e-3, "f16": 6e-4}  # of a kernel that rounds its weights alone
_CLOSE = {"f32": 2e-4, "bf16": 8e-3, "f16": 4e-3}
_LEAST = {"f32": 1e-24, "bf16": 1e-24, "f16": 2.0**-13}  # weights that are read, of the largest


class Unreadable(Exception):
    """The answer is no attention that a case line can ask for. One line."""


@dataclasses.dataclass
class Shape:
    """Sizes of one question, as case lines have them, with one batch row."""
    hq: int
    hkv: int
    sq: int
    skv: int
    d: int
    dv: int


class Asked:
    """A stranger, asked in one lane. Numbers go in and come out as binary64."""

    def __init__(self, stranger, framework, lane):
        self.stranger, self.framework, self.lane = stranger, framework, lane

    def narrow(self, x):
        """The numbers of the lane that are nearest."""
        return x.astype(np.float32).astype(dtype_of(self.lane))

    def __call__(self, q, k, v, told):
        arrays = (to_framework(self.narrow(x), self.framework) for x in (q, k, v))
        with np.errstate(all="ignore"):
            parts = self.stranger(*arrays, told)
        return {name: np.asarray(to_numpy(x)).astype(np.float64) for name, x in parts.items()}


@dataclasses.dataclass
class Weights:
    """W and scores of an answer, [hq, sq, skv]; scores before any factor; lse [hq, sq] or None."""
    w: np.ndarray
    z: np.ndarray
    lse: np.ndarray | None
    q: np.ndarray  # [hq, sq, d]
    k: np.ndarray  # [hkv, skv, d]

    def z_of(self, heads):
        """Scores where query head n reads key head heads[n]."""
        return self.q @ self.k[heads].swapaxes(1, 2)

    def seen(self):
        """Which keys have a weight, bool [hq, sq, skv]."""
        top = np.nanmax(np.where(np.isfinite(self.w), self.w, 0), axis=-1, keepdims=True)
        return np.isfinite(self.w) & (self.w > 1e-5 * top) & (top > 0)


def weights_of(asked, shape, told, size, seed=1):
    """Asks for the weights of drawn queries and keys; scores have a deviation of about
    size sqrt(d)."""
    s = shape
    drawn = np.random.default_rng(seed)
    narrow = lambda x: asked.narrow(x).astype(np.float64)
    q = narrow(size * drawn.standard_normal((1, s.hq, s.sq, s.d)))
    k = narrow(drawn.standard_normal((1, s.hkv, s.skv, s.d)))
    w, lse = np.zeros((s.hq, s.sq, s.skv)), None
    for start in range(0, s.skv, s.dv):
        v = np.zeros((1, s.hkv, s.skv, s.dv))
        count = min(s.dv, s.skv - start)
        v[0, :, np.arange(start, start + count), np.arange(count)] = 1
        answer = asked(q, k, v, told)
        w[:, :, start:start + count] = answer["o"][0, :, :, :count]
        lse = answer["lse"][0] if "lse" in answer else None
    weights = Weights(w, w, lse, q[0], k[0])
    weights.z = weights.z_of(np.arange(s.hq) // (s.hq // s.hkv))
    return weights


@dataclasses.dataclass(frozen=True)
class Mask:
    """Keys j with -right <= i + offset - j <= left, None for no bound; or a chunk of keys. The first
    `prefix` keys are seen by all, and the first `sink` keys whatever the left bound."""
    left: int | None = None
    right: int | None = None
    chunk: int | None = None
    prefix: int = 0
    sink: int = 0

    def seen(self, rows, keys, offset):
        back = np.arange(rows)[:, None] + offset - np.arange(keys)[None, :]
        seen = np.ones(back.shape, bool)
        first = np.arange(keys)[None, :]
        if self.left is not None:
            seen &= (back <= self.left) | (first < self.sink)
        if self.right is not None:
            seen &= -back <= self.right
        if self.chunk is not None:
            own = (np.arange(rows) + offset) // self.chunk
            seen &= own[:, None] == first // self.chunk
        return seen | (first < self.prefix)

    def key(self):
        """As case lines have it."""
        if self.chunk is not None:
            return f"chunked:{self.chunk}"
        if self.prefix:
            return f"prefix:{self.prefix}"
        if self.sink:
            return f"causal&(window:{self.left},0|sink:{self.sink})"
        terms = ["causal"] if self.right == 0 else []
        if self.left is not None or self.right not in (None, 0):
            terms.append("window:" + ",".join(
                "inf" if side is None else str(side) for side in (self.left, self.right)))
        return "&".join(terms) or "full"


def _most(values):
    found, counts = np.unique(values, return_counts=True)
    return int(found[counts.argmax()])


def mask_of(seen):
    """The mask of as many queries as keys, bool [n, n], and the share of pairs that it does not
    explain."""
    n = len(seen)
    rows = np.flatnonzero(seen.any(1))
    if len(rows) == 0:
        raise Unreadable("no query sees a key")
    first, last = seen[rows].argmax(1), n - 1 - seen[rows][:, ::-1].argmax(1)
    ends, starts = last < n - 1, first > 0
    # The last rows see the last key whatever the bound; rows before show it.
    right = _most((last - rows)[ends]) if ends.sum() > n // 8 else None
    left = _most((rows - first)[starts]) if starts.any() else None
    masks = [Mask(left, right)]
    if left is not None and right == 0:
        masks.append(Mask(right=0, chunk=int(rows[starts.argmax()])))
    odd = Mask(left, right).seen(n, n, 0) != seen
    reach = int(np.flatnonzero(odd.any(0)).max(initial=-1)) + 1
    if right == 0 and 0 < reach < n:
        masks += [Mask(right=0, prefix=reach)] if left is None else [Mask(left, right, sink=reach)]
    best = min(masks, key=lambda mask: (mask.seen(n, n, 0) != seen).sum())
    return best, float((best.seen(n, n, 0) != seen).mean())


@dataclasses.dataclass
class Fit:
    """Logarithms of weights as outer * tanh(inner * z), or inner * z without `outer`; `rest`: root
    mean square of what is left."""
    inner: float
    outer: float | None
    rest: float

    def factor(self):
        """Of small scores."""
        return self.inner if self.outer is None else self.inner * self.outer

    def __call__(self, z):
        return self.inner * z if self.outer is None else self.outer * np.tanh(self.inner * z)


class _Rows:
    """Logarithms and scores of what is seen, each less its row's mean."""

    def __init__(self, weights, seen, lane):
        top = np.where(seen, weights.w, 0).max(-1, keepdims=True)
        self.used = seen & (weights.w > _LEAST[lane] * top) & (top > 0)
        self.count = np.maximum(self.used.sum(-1, keepdims=True), 1)
        self.y = self.centred(np.log(np.where(self.used, weights.w, 1)))
        self.z = weights.z

    def centred(self, x):
        x = np.where(self.used, x, 0)
        return np.where(self.used, x - x.sum(-1, keepdims=True) / self.count, 0)

    def slope(self, x):
        return float((x * self.y).sum() / max((x * x).sum(), 1e-300))

    def rest(self, x):
        return float(np.sqrt(((self.y - x)**2).sum() / max(self.used.sum(), 1)))

    def capped(self, inner):
        x = self.centred(np.tanh(inner * self.z))
        outer = self.slope(x)
        return Fit(inner, outer, self.rest(outer * x))


def fit_of(weights, seen, lane):
    """The scores' factor and cap that explain the weights best."""
    rows = _Rows(weights, seen, lane)
    straight = rows.centred(weights.z)
    slope = rows.slope(straight)
    plain = Fit(slope, None, rows.rest(slope * straight))
    widest = np.abs(weights.z[rows.used]).max(initial=1e-300)
    grid = np.geomspace(0.01 / widest, 30 / widest, 60)
    best = min((rows.capped(a) for a in grid), key=lambda fit: fit.rest)
    low, high = best.inner / 1.2, best.inner * 1.2
    for _ in range(40):  # thirds, to 1e-7
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if rows.capped(a).rest < rows.capped(b).rest else (a, high)
    best = rows.capped((low + high) / 2)
    return best if best.rest < 0.6 * plain.rest and best.inner * widest > 0.03 else plain


class Blocks:
    """The weights by blocks of 16 keys, each with a fit of its own. `rest`: what one that follows
    leaves, as their median shows it."""

    def __init__(self, weights, seen, lane):
        self.weights, self.seen, self.lane = weights, seen, lane
        keys = np.arange(seen.shape[-1])
        blocks = [(keys >= start) & (keys < start + 16) for start in range(0, len(keys), 16)]
        self.blocks = [block for block in blocks if (seen & block).sum(-1).max() > 2]
        self.parts = [(dataclasses.replace(weights, w=weights.w[..., block], z=weights.z[..., block]),
                       seen[..., block]) for block in self.blocks]
        self.fits = [fit_of(*part, lane) for part in self.parts]
        own = [fit.rest for fit in self.fits]
        self.rest = min(_REST[lane], 6 * max(_LEAST_REST[lane], float(np.median(own)) if own else 0))

    def _follows(self, fit):
        """Which blocks a fit explains."""
        return np.array([rest_of(*part, self.lane, fit) for part in self.parts]) <= self.rest

    def even(self, fit):
        """Whether the fit explains every block."""
        return bool(self._follows(fit).all())

    def most(self):
        """The fit of most blocks, and the pairs that do not follow it, bool [hq, sq, skv]; or None."""
        good_ones = [fit for fit in self.fits if fit.rest <= self.rest]
        if not good_ones:
            return None
        votes = [self._follows(fit) for fit in good_ones]
        best = votes[int(np.argmax([vote.sum() for vote in votes]))]
        followed = np.logical_or.reduce([b for b, vote in zip(self.blocks, best) if vote])
        fit = fit_of(self.weights, self.seen & followed, self.lane)
        if best.sum() < 2 or fit.rest > self.rest:
            return None
        rows = _Rows(self.weights, self.seen, self.lane)
        logs = np.log(np.where(rows.used, self.weights.w, 1))
        left = np.where(rows.used, logs - fit(self.weights.z), np.nan)
        return fit, rows.used & ~(np.abs(left - _densest(left, self.rest)) <= 3 * self.rest)


def _densest(left, width):
    """Of each row the number around which most of the others lie, [hq, sq, 1]."""
    ordered = np.sort(left, axis=-1)  # NaN last
    ahead = np.array([[np.searchsorted(row, row + width) for row in head] for head in ordered])
    count = np.where(np.isfinite(ordered), ahead - np.arange(left.shape[-1]), 0)
    return np.take_along_axis(ordered, count.argmax(-1)[..., None], -1) + width / 2


def rest_of(weights, seen, lane, fit):
    """What a fit leaves of these weights."""
    rows = _Rows(weights, seen, lane)
    return rows.rest(rows.centred(fit(weights.z)))


def close(a, b, lane):
    """Whether a fitted number is this one."""
    return abs(a - b) <= _CLOSE[lane] * abs(b)


def good(fit, lane):
    """Whether the fit leaves no more than the lane's rounding."""
    return fit.rest <= _REST[lane]


def rounded(x, known, lane):
    """The number that an author would have written: one of `known`, or three digits."""
    near = [c for c in known if c and close(x, c, lane)]
    if near:
        return min(near, key=lambda c: abs(c - x))
    short = float(f"{x:.3g}")
    return short if close(x, short, lane) else x


def lse_base(weights, seen, fit):
    """"e" or "2" where the second result is the logarithm of the sum of exponentials, or None."""
    if weights.lse is None or weights.lse.shape != weights.z.shape[:2]:
        return None
    scores = np.where(seen, fit(weights.z), -np.inf)
    rows = seen.any(-1)
    top = np.where(rows, scores.max(-1, initial=-np.inf), 0)
    with np.errstate(all="ignore"):
        right = top + np.log(np.exp(scores - top[..., None]).sum(-1))
    for base, factor in (("e", 1.0), ("2", 1 / math.log(2))):
        if np.allclose(weights.lse[rows], factor * right[rows], rtol=0.02, atol=0.03):
            return base
    return None
