"""The numerics contract of attention, bit for bit: docs/numerics.md in NumPy.

Written from the clauses' text alone; the text names them N1 to N25. Only the
coefficients of N14 are read from the source, because the text leaves them to a script.
A `misread` set holds names of misreadings: each changes what one clause says, so that
a test shows that it would see that.
"""

import math
import pathlib
import re

import numpy as np

F32 = np.float32
LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453
NAN = F32(np.nan)
STRIPES = 16
DIGITS = {"bf16": 8, "f16": 11}

_HEADER = pathlib.Path(__file__).resolve().parents[2] / "reference/contract/coefficients.h"
_TEXT = _HEADER.read_text(encoding="utf-8")


def _table(name):
    body = re.search(r"\b" + name + r"\[\] = \{(.*?)\}", _TEXT, re.S)[1]
    return [F32(float.fromhex(x.strip().rstrip("f"))) for x in body.split(",") if x.strip()]


EXP2, LOG2 = _table("kExp2Core"), _table("kLog2Core")
SMALL, LARGE = _table("kTanhSmall"), _table("kTanhLarge")


# --- N1, N2, N4: f32 with fused and unfused operations, and narrow types. ---


def fma(a, b, c):
    """a b + c, rounded once. In binary64 the product is exact, and rounding the sum to
    odd keeps what a second rounding to f32 has to know."""
    p = np.float64(a) * np.float64(b)
    c = np.float64(c) + np.zeros_like(p)
    s = p + c
    with np.errstate(all="ignore"):
        other = s - p
        lost = (p - (s - other)) + (c - other)
        even = (np.atleast_1d(s).view(np.int64) & 1).reshape(np.shape(s)) == 0
        fix = np.isfinite(s) & (lost != 0) & even
        s = np.where(fix, np.nextafter(s, np.copysign(np.inf, lost)), s)
    return F32(s)


def significant(x, digits):
    """x with so many significant bits, to nearest even, whatever its exponent."""
    x = np.float64(x)
    fraction, exponent = np.frexp(x)
    with np.errstate(all="ignore"):
        rounded = np.ldexp(np.rint(np.ldexp(fraction, digits)), exponent - digits)
    return F32(np.where(np.isfinite(x), rounded, x))


def to_bf16(x):
    bits = np.atleast_1d(F32(x)).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    value = bits.astype(np.uint32).view(np.float32).reshape(np.shape(x))
    return np.where(np.isnan(x), NAN, value)


def to_lane(x, lane):
    if lane == "bf16":
        return to_bf16(x)
    return F32(np.float16(x)) if lane == "f16" else F32(x)


def finish(x, lane):
    """N11: rounded to the output lane, then + 0; NaN is canonical."""
    with np.errstate(all="ignore"):
        return to_lane(x, lane) + F32(0)


# --- N14. ---


def horner(table, x):
    total = np.full(np.shape(x), table[-1], F32)
    for c in table[-2::-1]:
        total = fma(total, x, c)
    return total


def tanh(x):
    a = np.abs(F32(x))
    c = np.minimum(a, F32(1))
    c2 = c * c
    v = horner(LARGE, a)
    v2 = v * v
    large, small = fma(v2, v2, F32(1.5)), horner(SMALL, c2)
    denominator = np.maximum(large, small)
    return np.copysign(fma(F32(-3), (c * c2) / denominator, c), x)


def log2_parts(x):
    """k, and log2 z, of x = z 2^k with z in [sqrt(1/2), sqrt 2)."""
    z, k = math.frexp(float(x))
    if z * z < 0.5:
        z, k = 2 * z, k - 1
    t = F32(F32(z) - F32(1))
    return F32(k), F32(t * horner(LOG2, t))


# --- Sums of products: N3, and in blocks N20. ---


def chain(products):
    acc = F32(0)
    for a, b in products:
        acc = fma(a, b, acc)
    return acc


def flushed(x):
    x = F32(x)
    return np.where(np.abs(x) < F32(2.0 ** -126), np.copysign(F32(0), x), x)


def flushed_unbounded(exact):
    """A result after rounding to 24 bits with an unbounded exponent (N20)."""
    rounded = np.float64(exact)
    fraction, exponent = np.frexp(rounded)
    near = np.ldexp(np.rint(np.ldexp(fraction, 24)), exponent - 24)
    return np.where(np.abs(near) < 2.0 ** -126, np.copysign(F32(0), F32(rounded)), F32(near))


def odd_sum(p, c):
    s = p + c
    other = s - p
    lost = (p - (s - other)) + (c - other)
    even = (np.atleast_1d(s).view(np.int64) & 1).reshape(np.shape(s)) == 0
    return np.where(np.isfinite(s) & (lost != 0) & even,
                    np.nextafter(s, np.copysign(np.inf, lost)), s)


def flushed_fma(a, b, c):
    p = np.float64(flushed(a)) * np.float64(flushed(b))
    return flushed_unbounded(odd_sum(p, np.float64(flushed(c)) + np.zeros_like(p)))


def flushed_add(a, b):
    return flushed_unbounded(np.float64(flushed(a)) + np.float64(flushed(b)))


def blocks(numbered, size):
    """The products of (index, a, b): blocks of 32 begin at multiples of 32; even and odd
    indices are a chain each, and acc = acc + (e + o)."""
    acc, at, chains = F32(0), None, None
    for index, a, b in list(numbered) + [(None, None, None)]:
        block = None if index is None else index // size
        if block != at:
            if at is not None:
                acc = flushed_add(acc, flushed_add(*chains))
            at, chains = block, [F32(0), F32(0)]
        if index is not None:
            chains[index % 2] = flushed_fma(a, b, chains[index % 2])
    return acc


# --- N21: the sums of a GPU's matrix unit, in integers. ---


STEPS = {"ampere": (8, 24, -132), "ada": (8, 24, -132),
         "hopper": (16, 25, -133), "blackwell": (16, 25, -133)}


def parts_of(x):
    """Integer significand of 24 bits and exponent; that of a subnormal is -126."""
    fraction, exponent = math.frexp(float(x))
    exponent = max(exponent - 1, -126) if x != 0 else -126
    return int(math.ldexp(float(x), 23 - exponent)), exponent


def cut(integer, shift):
    """Toward zero."""
    return integer if shift <= 0 else int(math.copysign(abs(integer) >> shift, integer))


def step_sum(numbered, order, less):
    width, keep, lowest = STEPS[order]
    keep += less
    acc, pending, at = 0.0, [], None
    for index, a, b in list(numbered) + [(None, 0, 0)]:
        step = None if index is None else index // width
        if step != at and pending:
            acc = one_step(acc, pending, keep, lowest)
            pending = []
        at = step
        pending.append((float(a), float(b)))
    return F32(acc)


def one_step(acc, pairs, keep, lowest):
    special = [acc] + [a * b for a, b in pairs]
    if any(not math.isfinite(x) for x in special):
        return math.fsum([x for x in special if not math.isfinite(x)]) if not any(
            math.isnan(x) for x in special) and len(
                {x for x in special if math.isinf(x)}) == 1 else math.nan
    terms = []  # integer, the exponent of its unit, the exponent that counts
    for a, b in pairs:
        (m, e), (n, f) = parts_of(a), parts_of(b)
        terms.append((m * n, e + f - 46, e + f if m * n else lowest))
    m, e = parts_of(acc)
    terms.append((m, e - 23, e if m else lowest))
    largest = max(t[2] for t in terms)
    unit = largest - keep
    total = 0
    for m, of, _ in terms:
        total += m << (of - unit) if of >= unit else cut(m, unit - of)
    size = abs(total).bit_length()
    drop = max(size - 24, -149 - unit, 0)
    total, unit = cut(total, drop), unit + drop
    if total == 0:
        return 0.0
    try:
        value = math.ldexp(total, unit)
    except OverflowError:
        value = math.copysign(math.inf, total)
    return value if abs(value) < 2.0 ** 128 else math.copysign(math.inf, total)


def sum_of(problem, numbered):
    """The sum of (index, a, b), in the order of the problem."""
    order = problem.case.order
    if order == "chain":
        pairs = [(a, b) for _, a, b in numbered]
        return chain(reversed(pairs) if problem.reads("sums_from_the_end") else pairs)
    if order != "amx":
        keep = -1 if problem.reads("steps_keep_a_bit_less") else 0
        return step_sum(numbered, order, keep)
    return blocks(numbered, 16 if problem.reads("blocks_of_16") else 32)


# --- One row: N7 to N13, N22, N25. ---


class Problem:
    """What a row's arithmetic needs of a case."""

    def __init__(self, case, split=1, misread=(), grad_f32=True):
        self.case, self.split, self.misread = case, split, set(misread)
        self.grad_f32 = grad_f32
        self.own_v = case.scales.get("v", "").startswith(("token", "block"))

    def reads(self, wrong):
        return wrong in self.misread

    def fixed(self, sink):
        cap = self.case.cap
        return (cap is not None and F32(cap * LOG2E) <= 80
                and (not self.own_v or self.reads("fixed_path_with_scales"))
                and (sink is None or np.rint(sink) <= 80))

    def parts(self):
        """N22: the width of a part."""
        share = -(-self.case.skv // self.split)
        if self.reads("parts_of_any_length"):
            return share
        return 16 * -(-share // 16)


def scores(problem, q, keys, k_scale, q_scale):
    """u of the keys [n, d]. Scales: (shared, own), the latter of each key or the query."""
    case = problem.case
    scale = case.scale
    for shared in (k_scale[0], q_scale[0]):
        if problem.reads("shared_scales_in_f32"):
            scale = float(F32(scale) * F32(shared))
        else:
            scale = scale * float(shared)
    out = []
    for n, k in enumerate(keys):
        s = sum_of(problem, [(c, q[c], k[c]) for c in range(case.d)])
        s = F32(F32(s * k_scale[1][n]) * q_scale[1])
        if case.cap is None:
            out.append(s * F32(scale * LOG2E))
        else:
            inner = F32(scale / case.cap)
            out.append(F32(case.cap * LOG2E) * tanh(F32(s * inner)))
    return np.array(out, F32)


def weight(problem, u, m, shift):
    """N9: g 2^e, +0 below the exponent -125."""
    n = np.rint(u)
    with np.errstate(all="ignore"):
        e = F32(F32(n - m) + F32(shift))
        g = horner(EXP2, F32(u - n))
        low = -126 if problem.reads("weights_to_126") else -125
        p = F32(np.ldexp(np.float64(g), np.int64(np.clip(np.nan_to_num(e), -999, 999))))
    return np.where((e < low) | (u == -np.inf), F32(0), p)


def narrow(problem, p):
    """N10."""
    lane = problem.case.p
    if lane == "bf16":
        return to_bf16(p)
    if lane != "f16":
        return p
    if problem.reads("f16_weights_of_binary16"):
        return F32(np.float16(p))
    return significant(p, 11)


def fold(stripes):
    for w in (8, 4, 2, 1):
        for r in range(w):
            stripes[r] = F32(stripes[r] + stripes[r + w])
    return stripes[0]


def sums(problem, row, shift, fixed):
    """m, l without the sink, acc of all parts together (N22); `row`: keys, u, v, vs, sink."""
    keys, u, v, vs, sink = row
    width = problem.parts()
    found = []
    for part in sorted(set(keys // width)):
        own = keys // width == part
        tops = list(np.rint(u[own])) + ([np.rint(sink)] if sink is not None else [])
        m = F32(0) if fixed else F32(max(tops))
        p = weight(problem, u[own], m, shift)
        stripes = [F32(0)] * STRIPES
        for at, (key, x) in enumerate(zip(keys[own], p)):
            r = at if problem.reads("stripes_of_visible_keys") else key
            stripes[r % STRIPES] = F32(stripes[r % STRIPES] + x)
        with np.errstate(all="ignore"):
            scaled = F32(p * vs[own])
        if problem.reads("scales_after_rounding"):
            scaled = F32(narrow(problem, p) * vs[own])
        else:
            scaled = narrow(problem, scaled)
        acc = [sum_of(problem, list(zip(keys[own], scaled, v[own][:, c])))
               for c in range(v.shape[1])]
        if problem.reads("sum_takes_rounded_weights"):
            stripes = [F32(0)] * STRIPES
            for key, x in zip(keys[own], narrow(problem, p)):
                stripes[key % STRIPES] = F32(stripes[key % STRIPES] + x)
        found.append((m, fold(stripes), np.array(acc, F32)))
    top = max(m for m, _, _ in found)
    l, acc = F32(0), np.zeros(v.shape[1], F32)
    for m, own_l, own_acc in found:
        with np.errstate(all="ignore"):
            down = int(max(m - top, -400))
            l = F32(l + F32(np.ldexp(np.float64(own_l), down)))
            acc = F32(acc + F32(np.ldexp(np.float64(own_acc), down)))
    return top, l, acc


def log_sum(l, m, shift):
    """N11's lse."""
    if l == 0:
        return F32(-np.inf)
    k, log = log2_parts(np.ldexp(np.float64(l), -shift))
    return F32(F32(F32(m + k) + log) * F32(LN2)) + F32(0)


def attention_row(problem, row, v_shared, width):
    """(o, lse) of one row: keys ascending, u, v [n, dv], scale of each v, sink in bits."""
    keys, u, v, vs, sink = row
    lane = problem.case.lane
    every = u if sink is None else np.append(u, sink)
    if any(not x < np.inf for x in every) or (len(u) and (every == -np.inf).all()):
        return np.full(width, NAN), NAN
    if len(u) == 0:
        if sink is None or sink == -np.inf:
            return np.zeros(width, F32), F32(-np.inf)
        m = np.rint(sink)
        return np.zeros(width, F32), log_sum(weight(problem, sink, m, 64), m, 64)
    fixed = problem.fixed(sink)
    shift = 0 if fixed else 64

    def whole(shift, fixed):
        m, l, acc = sums(problem, row, shift, fixed)
        if sink is not None and not problem.reads("no_sink_in_l"):
            l = F32(l + weight(problem, sink, m, shift))
        return m, l, acc

    m, l, acc = whole(shift, fixed)
    lse = log_sum(l, m, shift)
    with np.errstate(all="ignore"):
        o = acc / l
        if not np.isfinite(acc).all() and not problem.reads("no_second_computation"):
            _, again_l, again = whole(-32, False)
            o = np.where(np.isfinite(acc), o, again / again_l)
        return finish(F32(o * v_shared), lane), lse
