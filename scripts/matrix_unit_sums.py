"""Operands that make a matrix unit show how it adds, as bits: tiles(spec, seed).

A family draws 64 rows of A, 8 columns of B and 512 accumulators so that every one of
the 512 inner products is about one thing: a term at each distance around the place
where a unit cuts, a cancellation, a NaN. Distances are split between A and B, because
an 8-bit type has few exponents: row r gives 0 .. span, column j the rest.
"""

import dataclasses
import zlib

import numpy as np

from matrix_unit_file import COLUMNS, ROWS, Tile


@dataclasses.dataclass(frozen=True)
class Type:
    """A binary floating-point type in `bits` bits, the last `unused` of them ignored."""
    bits: int
    exponent_bits: int
    fraction: int      # bits behind the leading one
    infinity: bool = True
    unused: int = 0

    @property
    def bias(self):
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def least(self):
        """The exponent of the smallest normal number."""
        return 1 - self.bias

    @property
    def most(self):
        return self.bias if self.infinity else self.bias + 1

    @property
    def dtype(self):
        return np.dtype(f"u{self.bits // 8}")

    @property
    def sign_bit(self):
        return 1 << (self.bits - 1)

    def special(self, name):
        """Bits of inf, nan, max or zero; types without infinity give NaN for inf."""
        top = ((1 << self.exponent_bits) - 1) << self.fraction
        ones = (1 << self.fraction) - 1
        return {"zero": 0, "nan": top | (ones if not self.infinity else ones >> 1 | 1),
                "inf": top if self.infinity else top | ones,
                "max": top - 1 if self.infinity else top | (ones - 1),
                "least": 1}[name] << self.unused


TYPES = {
    "bf16": Type(16, 8, 7), "f16": Type(16, 5, 10), "tf32": Type(32, 8, 10, unused=13),
    "e4m3": Type(8, 4, 3, infinity=False), "e5m2": Type(8, 5, 2), "f32": Type(32, 8, 23),
}


def pack(kind, sign, exponent, fraction):
    """Bits of (1 + fraction / 2^f) 2^exponent: subnormal below the least exponent,
    where bits get lost, and held at the largest above it."""
    exponent = np.minimum(np.asarray(exponent, np.int64), kind.most)
    significand = np.asarray(fraction, np.int64) + (1 << kind.fraction)
    low = np.clip(kind.least - exponent, 0, kind.fraction + 1)
    field = np.maximum(exponent + kind.bias - 1, 0)
    bits = (field << kind.fraction) + (significand >> low)
    bits = np.minimum(bits, kind.special("max") >> kind.unused) << kind.unused
    return (bits | np.asarray(sign, np.int64) * kind.sign_bit).astype(kind.dtype)


def value(kind, bits):
    """Finite numbers as binary64."""
    bits = bits.astype(np.int64) >> kind.unused
    magnitude = bits & ((kind.sign_bit >> kind.unused) - 1)
    field = magnitude >> kind.fraction
    whole = (magnitude & ((1 << kind.fraction) - 1)) + np.where(
        field > 0, 1 << kind.fraction, 0)
    size = np.ldexp(whole.astype(np.float64),
                    np.maximum(field, 1) - kind.bias - kind.fraction)
    return np.where(bits == magnitude, size, -size)


def nearest_below(kind, x):
    """Bits of binary64 numbers, cut toward zero."""
    m, e = np.frexp(np.abs(x))
    fraction = np.floor((2 * m - 1) * (1 << kind.fraction)).astype(np.int64)
    bits = pack(kind, x < 0, np.where(x == 0, kind.least - 64, e - 1),
                np.where(x == 0, 0, fraction))
    return bits


class Draw:
    """One tile of K products a sum, of one operand type and accumulator."""

    def __init__(self, rng, operand, accumulator, length):
        self.rng, self.length = rng, length
        self.type, self.acc = TYPES[operand], TYPES[accumulator]
        self.span = min(self.type.most - self.type.least, 20)
        # Every row and column has its part of the distance between large and small.
        self.row_part = np.arange(ROWS) % (self.span + 1)
        self.column_part = np.arange(COLUMNS) * self.span // (COLUMNS - 1)
        self.high = min(self.type.most - 1, 8)

    def numbers(self, kind, exponent, shape, few_bits=False):
        exponent = np.broadcast_to(exponent, shape)
        fraction = self.rng.integers(0, 1 << kind.fraction, shape)
        if few_bits:
            fraction = (fraction & 1) << (kind.fraction - 1)
        return pack(kind, self.rng.integers(0, 2, shape), exponent, fraction)

    def rows(self, low, high):
        exponent = self.rng.integers(low, high + 1, (ROWS, self.length))
        return self.numbers(self.type, exponent, (ROWS, self.length))

    def columns(self, low, high):
        exponent = self.rng.integers(low, high + 1, (COLUMNS, self.length))
        return self.numbers(self.type, exponent, (COLUMNS, self.length))

    def sums(self, low, high, few_bits=False):
        exponent = self.rng.integers(low, high + 1, (ROWS, COLUMNS))
        return self.numbers(self.acc, exponent, (ROWS, COLUMNS), few_bits)

    def places(self, n):
        return self.rng.permutation(self.length)[:n]

    def dots(self, a, b):
        return value(self.type, a) @ value(self.type, b).T

    def thin(self, a, keep):
        """Zeros in every second row but for the places kept and two others."""
        for r in range(1, ROWS, 2):
            left = set(keep) | set(self.places(2))
            gone = [i for i in range(self.length) if i not in left]
            a[r, gone] = 0

    def apart(self, count, few_bits=False):
        """Terms at `count` places that lie row_part + column_part above all others."""
        at = self.places(count)
        a_low = (self.high - self.row_part)[:, None]
        b_low = (self.high - self.column_part)[:, None]
        a = self.numbers(self.type, a_low, (ROWS, self.length), few_bits)
        b = self.numbers(self.type, b_low, (COLUMNS, self.length), few_bits)
        a[:, at] = self.numbers(self.type, self.high, (ROWS, count), few_bits)
        b[:, at] = self.numbers(self.type, self.high, (COLUMNS, count), few_bits)
        self.thin(a, at)
        return a, b, at

    def small_sums(self):
        """Zeros, and numbers about as small as the small terms."""
        low = 2 * self.high - self.row_part[:, None] - self.column_part
        c = self.numbers(self.acc, low + self.rng.integers(-2, 3, low.shape), low.shape)
        return np.where(self.rng.integers(0, 2, c.shape) > 0, c, 0).astype(c.dtype)

    # Families: each gives a, b, c.

    def plain(self):
        return self.rows(-2, 2), self.columns(-2, 2), self.sums(-4, 6)

    def wide(self):
        half = min(self.type.most, 60)
        low = max(self.type.least - self.type.fraction, -half)
        return self.rows(low, half), self.columns(low, half), self.sums(2 * low, 2 * half)

    def cut(self):
        a, b, _ = self.apart(1)
        return a, b, self.small_sums()

    def cut_few_bits(self):
        a, b, _ = self.apart(1, few_bits=True)
        return a, b, self.small_sums()

    def cut_beside_c(self):
        """The accumulator is the large one."""
        a, b, at = self.apart(1)
        a[:, at] = 0
        return a, b, self.sums(2 * self.high, 2 * self.high + 3)

    def cancel(self):
        a, b, (i, j) = self.apart(2)
        a[:, j] = a[:, i] ^ self.type.sign_bit
        b[:, j] = b[:, i]
        return a, b, self.small_sums()

    def cancel_c(self):
        """The accumulator is minus the sum, within a few of its last bits."""
        a, b = self.rows(-2, 2), self.columns(-2, 2)
        c = nearest_below(self.acc, -self.dots(a, b)).astype(np.int64)
        return a, b, (c + self.rng.integers(-2, 3, c.shape)).astype(self.acc.dtype)

    def c_dominates(self):
        return self.beside_dot(self.rng.integers(0, 31, (ROWS, COLUMNS)))

    def c_dominated(self):
        return self.beside_dot(-self.rng.integers(0, 41, (ROWS, COLUMNS)))

    def beside_dot(self, distance):
        a, b = self.rows(-2, 2), self.columns(-2, 2)
        _, exponent = np.frexp(self.dots(a, b))
        return a, b, self.numbers(self.acc, exponent - 1 + distance, distance.shape)

    def last_bit(self):
        """Products of a single bit around the accumulator's last, ties among them."""
        top = 2 * self.high - 2
        places = self.acc.fraction - 2 + np.arange(ROWS) % 8
        a = np.zeros((ROWS, self.length), self.type.dtype)
        for r in range(ROWS):
            at = self.places(1 + r % 3)
            down = top - places[r] - self.rng.integers(0, 3, len(at))
            a[r, at] = pack(self.type, self.rng.integers(0, 2, len(at)), down // 2, 0)
        b = pack(self.type, self.rng.integers(0, 2, (COLUMNS, self.length)),
                 (top - places[0]) // 2 - np.arange(COLUMNS)[:, None] // 2, 0)
        return a, b, self.sums(top, top + 1)

    def subnormal(self):
        low = self.type.least
        a, b = self.rows(low - self.type.fraction, low), self.columns(low, self.type.most)
        b[::2] = self.columns(low, low + 4)[::2]
        c = self.sums(self.acc.least - self.acc.fraction, self.acc.least + 2)
        near = self.beside_values(a, b)
        return a, b, np.where(self.rng.integers(0, 2, c.shape) > 0, c, near)

    def beside_values(self, a, b):
        _, exponent = np.frexp(self.dots(a, b))
        return self.numbers(self.acc, exponent - 1, exponent.shape)

    def tiny(self):
        """Products around the accumulator's smallest numbers, or the type's."""
        middle = max((self.acc.least - self.acc.fraction) // 2,
                     self.type.least - self.type.fraction // 2)
        a, b = self.rows(middle - 6, middle + 8), self.columns(middle - 6, middle + 8)
        c = self.sums(self.acc.least - self.acc.fraction, self.acc.least + 1)
        return a, b, np.where(self.rng.integers(0, 3, c.shape) > 0, c, 0).astype(c.dtype)

    def special(self):
        a, b, c = self.rows(-2, 2), self.columns(-2, 2), self.sums(-2, 4)
        names = ("inf", "nan", "zero", "max")
        for r in range(0, ROWS, 2):
            for at in self.places(1 + r % 3):
                a[r, at] = self.one_of(self.type, names)
        for j in range(0, COLUMNS, 2):
            for at in self.places(2):
                b[j, at] = self.one_of(self.type, names[2:] if j % 4 else names)
        for r in range(0, ROWS, 4):
            for j in range(COLUMNS):
                c[r + j % 4, j] = self.one_of(self.acc, names)
        return a, b, c

    def one_of(self, kind, names):
        bits = kind.special(names[self.rng.integers(len(names))])
        return bits | int(self.rng.integers(2)) * kind.sign_bit

    def zeros(self):
        """Zeros of both signs, and sums that are zero without being made of zeros."""
        a, b = self.rows(-1, 1), self.columns(-1, 1)
        sign = self.type.sign_bit
        a = np.where(self.rng.integers(0, 8, a.shape) > 0, a & sign, a)
        i, j = self.places(2)
        b[:, j] = b[:, i]
        for r in range(0, ROWS, 4):
            a[r] &= sign
            a[r, j] = pack(self.type, r // 4 % 2, 0, 0)
            a[r, i] = a[r, j] ^ sign
        a[1::4] &= sign
        c = self.sums(-30, 0)
        zero = c & self.acc.sign_bit
        few = self.rng.integers(0, 8, c.shape) == 0
        return a, b, np.where(few, c, zero).astype(c.dtype)

    def overflow(self):
        """Products, accumulators and sums around the accumulator's largest number."""
        half = min((self.acc.most + 1) // 2, self.type.most)
        a, b = self.rows(half - 4, half), self.columns(half - 4, half)
        c = self.sums(self.acc.most - 2, self.acc.most)
        near = self.rng.integers(0, 3, c.shape)
        most = (c & self.acc.sign_bit) | self.acc.special("max")
        a[::2] = self.rows(-4, 4)[::2]
        return a, b, np.where(near == 0, most, c).astype(c.dtype)

    def any_bits(self):
        draw = lambda kind, *shape: self.rng.integers(0, 1 << kind.bits, shape).astype(
            kind.dtype)
        return (draw(self.type, ROWS, self.length), draw(self.type, COLUMNS, self.length),
                draw(self.acc, ROWS, COLUMNS))

    def unused_bits(self):
        """tf32: what stands in the bits that it does not have."""
        a, b, c = self.plain()
        low = lambda x: x | self.rng.integers(0, 1 << 13, x.shape).astype(x.dtype)
        a, b = low(a), low(b)
        only = np.array([0x00000001, 0x80001FFF, 0x7F800001, 0xFF801FFF, 0x7F801000],
                        a.dtype)
        for r in range(0, ROWS, 4):
            a[r, self.places(1)] = only[r // 4 % len(only)]
        return a, b, c


ONCE = ("plain", "wide", "cut", "cut_few_bits", "cut_beside_c", "cancel", "cancel_c",
        "c_dominates", "c_dominated", "last_bit", "subnormal", "tiny", "special", "zeros",
        "overflow", "any_bits")
CHAINED = ("plain", "wide", "cut", "cut_beside_c", "cancel", "cancel_c", "c_dominated")
LONGEST = 128


def plan(operand, k, short):
    """(family, K) of every tile: each family on single instructions, twice unless
    `short`, and chains of 2, 4, 8 and 16 instructions as long as K <= 128."""
    once = ONCE + (("unused_bits",) if operand == "tf32" else ())
    tiles = [(family, k) for family in once for _ in range(1 if short else 2)]
    chains = (2,) if short else (2, 4, 8, 16)
    tiles += [(family, k * chain) for chain in chains if k * chain <= LONGEST
              for family in CHAINED]
    return tiles


def tiles(operand, accumulator, k, seed, short=False):
    """Tiles without results. The same arguments draw the same bits on every machine."""
    drawn = []
    for at, (family, length) in enumerate(plan(operand, k, short)):
        key = zlib.crc32(f"{operand} {accumulator} {k} {at} {family}".encode())
        rng = np.random.Generator(np.random.Philox(key=[seed, key]))
        draw = Draw(rng, operand, accumulator, length)
        drawn.append(Tile(family, *getattr(draw, family)()))
    return drawn
