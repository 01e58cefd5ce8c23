"""What AMD's matrix cores are said to compute: public models, without a recording.

Sums of finite numbers, as fractions, one at a time. a and b are one step's products,
c the accumulator. Nothing holds these models to the bits of a chip: they are good for
envelopes alone (docs/gpu-units.md).
"""

from fractions import Fraction
from math import floor

F32_LEAST, F32_FRACTION = -126, 23


def exponent(x):
    """e with 2^e <= |x| < 2^(e + 1)."""
    n, d = abs(x).numerator, x.denominator
    e = n.bit_length() - d.bit_length()
    return e if abs(x) >= Fraction(2) ** e else e - 1


def nearest(x):
    """To f32, ties to even."""
    if x == 0:
        return Fraction(0)
    unit = Fraction(2) ** (max(exponent(x), F32_LEAST) - F32_FRACTION)
    return round(x / unit) * unit


def flushed(x):
    return Fraction(0) if abs(x) < Fraction(2) ** F32_LEAST else x


def exponents_of(a, b, least):
    return [max(exponent(x), least) + max(exponent(y), least)
            for x, y in zip(a, b) if x and y]


def cdna1(a, b, c):
    """Steps of 4 products (bf16: 2) and the accumulator: exact, rounded once."""
    return nearest(sum((x * y for x, y in zip(a, b)), c))


def cdna2(a, b, c):
    """Pairs of products, pairs of pairs, then the accumulator: each an f32 addition to
    nearest, and subnormal numbers are zeros wherever they stand."""
    a, b = [flushed(x) for x in a], [flushed(y) for y in b]
    level = [x * y for x, y in zip(a, b)]
    while len(level) > 1:
        level = [flushed(nearest(sum(level[i:i + 2]))) for i in range(0, len(level), 2)]
    return flushed(nearest(level[0] + flushed(c)))


def kept(x, unit):
    """Toward zero."""
    return (floor(x / unit) if x >= 0 else -floor(-x / unit)) * unit


def cdna3(a, b, c, least):
    """8 products (tf32 4): each cut toward zero 24 bits behind the largest; their sum
    is floored 31 bits behind the larger of it and the accumulator, which is floored at
    24; the total is rounded to nearest. Floors pull every sum down."""
    tops = exponents_of(a, b, least)
    top = max(tops, default=None)
    total = Fraction(0)
    if tops:
        unit = Fraction(2) ** (top - 24)
        total = sum((kept(x * y, unit) for x, y in zip(a, b)), Fraction(0))
    both = [top] * bool(tops) + [max(exponent(c), F32_LEAST)] * bool(c)
    if not both:
        return Fraction(0)
    unit = Fraction(2) ** max(both)
    total = floor(total / unit * 2 ** 31) * unit / 2 ** 31
    return nearest(total + floor(c / unit * 2 ** 24) * unit / 2 ** 24)
