#!/usr/bin/env python3
"""Writes reference/contract/coefficients.h: the constants of clause N14.

    python3 reference/contract/generate_coefficients.py            writes it
    python3 reference/contract/generate_coefficients.py --check    compares it

--check exits with 1 if the file is another one, with 77 without mpmath.

Needs mpmath. Every polynomial is a discrete minimax fit (Remez exchange over a
fixed Chebyshev grid, 40 digits) of the error that reaches the result. The
coefficients are rounded to f32 one after the other, lowest power first, and
the rest is fitted again around each rounded one. Nothing depends on the
machine: the output is the same byte for byte, and a test compares it.

The BOUNDS table is measured, not derived: `elementary_sweep --oracle` prints
it from all 2^32 arguments. After a change of a coefficient: run this script,
build, `elementary_sweep --oracle`, mend the table, run this script again,
`elementary_sweep --write --side=scalar_fma`.
"""

import contextlib
import io
import pathlib
import sys

try:
    import mpmath as mp
except ImportError:
    print("needs mpmath", file=sys.stderr)
    sys.exit(77)

mp.mp.dps = 40
GRID = 400

# name, largest error in ulp rounded up to 3 decimals, argument (f32 bits)
BOUNDS = [
    ("Exp2Core", "0.834", 0xbeffd263),
    ("Exp2", "0.894", 0xc2fcffc9),
    ("Exp", "1.024", 0xc1f135f0),
    ("Log2Core", "1.651", 0x3fb239cf),
    ("Log2", "1.651", 0x3fb239cf),
    ("Tanh", "1.768", 0x3f9a3fae),
    ("Sigmoid", "1.748", 0xbeae05b6),
    ("Silu", "2.705", 0x3d76d153),
    ("Softplus", "1.791", 0xbedee4a1),
    ("SinTurns", "1.050", 0x00271642),
    ("CosTurns", "0.875", 0x3dfdac73),
]


def round_to_f32(x):
    """The f32 nearest to a normal mpf."""
    mantissa, exponent = mp.frexp(x)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, 24)), exponent - 24)


def hex_float(x):
    """An exact f32 as a C++ literal."""
    mantissa, exponent = mp.frexp(abs(x))
    digits = int(mp.ldexp(mantissa, 24)) - (1 << 23)
    fraction = ("%06x" % (digits << 1)).rstrip("0")
    point = "." if fraction else ""
    sign = "-" if x < 0 else ""
    return "%s0x1%s%sp%+df" % (sign, point, fraction, exponent - 1)


def chebyshev_grid(low, high):
    low, high = mp.mpf(low), mp.mpf(high)
    centre, half = (low + high) / 2, (high - low) / 2
    return [centre - half * mp.cos(mp.pi * (2 * i + 1) / (2 * GRID))
            for i in range(GRID)]


def evaluate(terms, x):
    return mp.fsum(c * x**p for p, c in terms.items())


def errors(xs, fs, ws, terms):
    return [w * (f - evaluate(terms, x)) for x, f, w in zip(xs, fs, ws)]


def worst(es):
    return max(abs(e) for e in es)


def alternation(es, count):
    """Indices of `count` extrema of alternating sign, or fewer."""
    found = []
    for i, e in enumerate(es):
        if found and (es[found[-1]] < 0) == (e < 0):
            if abs(e) > abs(es[found[-1]]):
                found[-1] = i
        else:
            found.append(i)
    while len(found) > count:
        if abs(es[found[0]]) < abs(es[found[-1]]):
            found.pop(0)
        else:
            found.pop()
    return found


def fit(xs, fs, ws, powers):
    """Remez exchange: {power: coefficient} of least max |w (f - p)|."""
    count = len(powers)
    points = [int((GRID - 1) * (1 - mp.cos(mp.pi * k / count)) / 2)
              for k in range(count + 1)]
    best, best_error = None, mp.inf
    for _ in range(40):
        system = mp.matrix(count + 1, count + 1)
        right = mp.matrix(count + 1, 1)
        for row, i in enumerate(points):
            for column, power in enumerate(powers):
                system[row, column] = ws[i] * xs[i]**power
            system[row, count] = (-1)**row
            right[row] = ws[i] * fs[i]
        solution = mp.lu_solve(system, right)
        terms = {power: solution[k] for k, power in enumerate(powers)}
        es = errors(xs, fs, ws, terms)
        if worst(es) < best_error:
            best, best_error = terms, worst(es)
        if worst(es) <= abs(solution[count]) * (1 + mp.mpf(10)**-6):
            break
        points = alternation(es, count + 1)
        if len(points) < count + 1:
            break
    return best


def fit_rounded(xs, fs, ws, powers):
    """fit() with f32 coefficients; returns them and the largest error.

    With low powers fixed the rest is no Chebyshev system where the interval
    contains 0, and the exchange may stall: the older fit is kept if better.
    """
    fixed, current = {}, fit(xs, fs, ws, powers)
    for k, power in enumerate(powers):
        fixed[power] = round_to_f32(current[power])
        left = powers[k + 1:]
        if not left:
            break
        rest = [f - evaluate(fixed, x) for x, f in zip(xs, fs)]
        old = {p: current[p] for p in left}
        new = fit(xs, rest, ws, left)
        better = worst(errors(xs, rest, ws, new)) < worst(
            errors(xs, rest, ws, old))
        current = new if better else old
    return list(fixed.values()), worst(errors(xs, fs, ws, fixed))


def exp2_core():
    xs = chebyshev_grid(-0.5, 0.5)
    fs = [mp.power(2, x) for x in xs]
    return fit_rounded(xs, fs, [1 / f for f in fs], [0, 1, 2, 3, 4, 5, 6])


def log2_core():
    """log2(1 + t) / t; the relative error is that of log2."""
    xs = chebyshev_grid(mp.sqrt(0.5) - 1, mp.sqrt(2) - 1)
    fs = [mp.log1p(t) / mp.log(2) / t for t in xs]
    return fit_rounded(xs, fs, [1 / f for f in fs], list(range(10)))


TANH_SCALE = 3


def tanh_small():
    """D = s c^3 / (c - tanh c) in c, 0 < c <= 1; tanh = c - s c^3 / D."""
    xs = chebyshev_grid("0.001", 1)
    fs = [TANH_SCALE * c**3 / (c - mp.tanh(c)) for c in xs]
    ws = [TANH_SCALE * c**3 / f**2 / mp.tanh(c) for c, f in zip(xs, fs)]
    return fit_rounded(xs, fs, ws, [0, 2, 4, 6])


def tanh_large():
    """v with v^4 = s e^(2a) / 2 on [1, 9.05]; tanh = 1 - s / (v^4 + s/2)."""
    xs = chebyshev_grid("0.999", "9.05")
    fs = [mp.root(TANH_SCALE * mp.exp(2 * a) / 2, 4) for a in xs]
    ws = [TANH_SCALE * 4 * f**3 / (f**4 + mp.mpf(TANH_SCALE) / 2)**2
          for f in fs]
    return fit_rounded(xs, fs, ws, list(range(8)))


def two_pi():
    """2 pi rounded to f32: the high part; the table below has the rest."""
    return round_to_f32(2 * mp.pi)


def sin_turns():
    """sin(2 pi r) / r less the high part of 2 pi, in r, 0 < r <= 1/8."""
    xs = chebyshev_grid("0.0001", "0.125")
    fs = [mp.sin(2 * mp.pi * r) / r - two_pi() for r in xs]
    ws = [r / mp.sin(2 * mp.pi * r) for r in xs]
    return fit_rounded(xs, fs, ws, [0, 2, 4, 6])


def cos_turns():
    """(cos(2 pi r) - 1) / r^2 in r, 0 < r <= 1/8."""
    xs = chebyshev_grid("0.0001", "0.125")
    fs = [(mp.cos(2 * mp.pi * r) - 1) / r**2 for r in xs]
    ws = [r**2 / mp.cos(2 * mp.pi * r) for r in xs]
    return fit_rounded(xs, fs, ws, [0, 2, 4, 6])


def log1p_core():
    """log(1 + e) / e; the relative error is that of log(1 + e)."""
    xs = chebyshev_grid(0, 1)
    fs = [mp.log1p(e) / e for e in xs]
    return fit_rounded(xs, fs, [1 / f for f in fs], list(range(10)))


def print_constant(name, value, comment):
    if comment:
        print()
    for line in comment:
        print("// " + line)
    print("inline constexpr float %s = %s;" % (name, hex_float(value)))


def print_table(name, fitted, comment):
    coefficients, error = fitted
    print()
    for line in comment:
        print("// " + line)
    print("// Error of the fit: %s * 2^-24." % mp.nstr(error * 2**24, 2))
    print("inline constexpr float %s[] = {" % name)
    for c in coefficients:
        print("    %s," % hex_float(c))
    print("};")


HEADER = """\
// Written by generate_coefficients.py beside this file: do not edit.
//
// Constants of the elementary functions (N14), shared by reference/ and
// optimized/; the arithmetic is written twice. Polynomials: lowest power first.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_COEFFICIENTS_H_
#define LOCKSTEP_REFERENCE_CONTRACT_COEFFICIENTS_H_

namespace lockstep {
// clang-format off"""

FOOTER = """\
// clang-format on
}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_COEFFICIENTS_H_"""


def print_header():
    print(HEADER)
    print_constant("kRoundMagic", mp.mpf(3) * 2**22, [
        "(x + kRoundMagic) - kRoundMagic is x rounded to an even integer for",
        "|x| < 2^22, and the low bits of the sum are that integer."])

    print_table("kExp2Core", exp2_core(), ["2^f, |f| <= 1/2."])
    print_constant("kExp2Low", mp.mpf(-151), [
        "2^x is 0 below this argument, and infinity above the next."])
    print_constant("kExp2High", mp.mpf(129), [])
    print_constant("kExpLow", mp.mpf(-105), ["The same for e^x."])
    print_constant("kExpHigh", mp.mpf(90), [])
    log2e = 1 / mp.log(2)
    high = round_to_f32(log2e)
    print_constant("kLog2EHigh", high, [
        "log2(e) = high + low: f = fma(x, low, fma(x, high, -n))."])
    print_constant("kLog2ELow", round_to_f32(log2e - high), [])

    print_table("kLog2Core", log2_core(), [
        "log2(1 + t) / t, 1 + t in [sqrt(1/2), sqrt 2)."])

    print("\n// Bits of the smallest f32 above sqrt(1/2).")
    print("inline constexpr unsigned kSqrtHalfBits = 0x3f3504f4u;")

    print_constant("kTanhScale", mp.mpf(TANH_SCALE), [
        "tanh(a) = c - s c^3 / D, c = min(a, 1), a >= 0, s = kTanhScale.",
        "Below 1 the denominator D is small(c^2), beyond large(a)^4 + s/2;",
        "the larger of the two is always the right one. s = 3 keeps the",
        "mantissas of large(a) away from 1, where rounding is coarsest."])
    print_table("kTanhSmall", tanh_small(), ["Polynomial in c^2."])
    print_table("kTanhLarge", tanh_large(), ["Polynomial in a."])

    print_constant("kSiluLow", mp.mpf(-87), [
        "Below it sigmoid is subnormal, and silu has sigmoid's few bits."])
    print_constant("kMaxTurns", mp.mpf(2)**20, [
        "Angles in turns are reduced exactly up to this size."])
    print_constant("kTwoPi", two_pi(), [
        "With x = n/4 + r turns, n an integer, |r| <= 1/8:",
        "sin(2 pi r) = r kTwoPi + r kSinTurns(r^2),",
        "cos(2 pi r) = 1 + r^2 kCosTurns(r^2)."])
    print_table("kSinTurns", sin_turns(), ["Polynomial in r^2."])
    print_table("kCosTurns", cos_turns(), ["Polynomial in r^2."])

    print_table("kLog1pCore", log1p_core(), ["log(1 + e) / e, 0 <= e <= 1."])

    print("\n// Largest error in ulp (distance to the exact value, in units of")
    print("// the last place of the exact value) over all arguments, and the")
    print("// bits of an argument where it occurs. elementary_sweep asserts")
    print("// both; documents and error envelopes name them.")
    print("struct ElementaryBound {\n  const char* name;\n  double max_ulp;")
    print("  unsigned witness;\n};")
    for name, ulp, witness in BOUNDS:
        print("inline constexpr ElementaryBound k%sBound = {" % name)
        print('    "%s", %s, 0x%08xu};' % (name, ulp, witness))
    print()
    print(FOOTER)


def main(arguments):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print_header()
    path = pathlib.Path(__file__).with_name("coefficients.h")
    if arguments == ["--check"]:
        same = path.read_text(encoding="ascii") == text.getvalue()
        print("coefficients.h is %s" % ("generated" if same else "NOT generated"))
        return 0 if same else 1
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    path.write_text(text.getvalue(), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
