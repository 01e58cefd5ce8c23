#!/usr/bin/env python3
"""The models of matrix units: sums by hand, by fractions, and wrong neighbours.

usage: model_test.py
"""

import pathlib
import struct
import sys
import unittest
from fractions import Fraction
from math import floor

import numpy as np

import cdna_unit
import matrix_unit
from matrix_unit import AMPERE, HOPPER, HOPPER_TF32, UNITS, f16_out

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import matrix_unit_sums  # noqa: E402
from matrix_unit_sums import TYPES, value  # noqa: E402

INF, NAN = 0x7F800000, 0x7FFFFFFF
FP8 = UNITS["hopper", "e4m3", "f32", "wgmma"]


def f32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def bits(kind, numbers):
    exact = np.array(numbers, np.float64)
    packed = matrix_unit_sums.nearest_below(TYPES[kind], exact)
    assert (value(TYPES[kind], packed) == exact).all(), numbers
    return packed


def one_step(unit, operand, a, b, c):
    """Bits of one step; a and b as numbers or as arrays of bits, c as bits."""
    fill = np.zeros(unit.products, np.float64)
    rows = []
    for x in (a, b):
        if not isinstance(x, np.ndarray):
            fill[:] = 0
            fill[:len(x)] = x
            x = bits(operand, fill)
        rows.append(x[None])
    acc = TYPES[unit.accumulator]
    return int(matrix_unit.step(operand, *rows, np.array([c], acc.dtype), unit)[0])


class ByHand(unittest.TestCase):
    """Each expected value follows from the text of matrix_unit.py alone."""

    def check(self, unit, operand, a, b, c, want):
        got = one_step(unit, operand, a, b, c)
        self.assertEqual(got, want, f"{got:#x}, want {want:#x}")

    def test_sum_is_cut_toward_zero(self):
        ones = [1.0, 1.0]
        self.check(HOPPER, "bf16", ones, [1.0, 2.0**-24], 0, f32(1.0))
        self.check(HOPPER, "bf16", [1.0] * 3, [1.0, 2.0**-24, 2.0**-25], 0, f32(1.0))
        self.check(HOPPER, "bf16", ones, [-1.0, -(2.0**-24)], 0, f32(-1.0))

    def test_a_term_lives_to_f_bits_behind_the_largest(self):
        for unit, last in ((HOPPER, 25), (AMPERE, 24)):
            for far, left in ((last, 2.0**-last), (last + 1, 0.0)):
                self.check(unit, "bf16", [1.0] * 3, [1.0, 2.0**-far, -1.0], 0, f32(left))
                self.check(unit, "bf16", [1.0] * 2, [2.0**-far, -1.0], f32(1.0),
                           f32(left))

    def test_terms_are_cut_toward_zero(self):
        for sign in (1, -1):
            self.check(HOPPER, "bf16", [1.0] * 3, [1.0, sign * 1.75 * 2.0**-25, -1.0], 0,
                       f32(sign * 2.0**-25))

    def test_a_product_keeps_its_exponent(self):
        # 1.5 * 1.5 = 2.25 counts as 2^0: 2^-25 beside it stays, 2^-26 does not.
        self.check(HOPPER, "bf16", [1.5, 1.0, -1.5], [1.5, 2.0**-25, 1.5], 0,
                   f32(2.0**-25))
        self.check(HOPPER, "bf16", [1.5, 1.0, -1.5], [1.5, 2.0**-26, 1.5], 0, 0)

    def test_steps_ascend(self):
        a, b = np.ones((1, 32)), np.zeros((1, 32))
        b[0, [0, 1, 16]] = 2.0**30, 1.0, -(2.0**30)
        d = matrix_unit.chain("bf16", bits("bf16", a), bits("bf16", b),
                              np.zeros(1, np.uint32), HOPPER, 16)
        self.assertEqual(int(d[0]), 0)
        b[0, [0, 1, 16]] = 2.0**30, -(2.0**30), 1.0
        d = matrix_unit.chain("bf16", bits("bf16", a), bits("bf16", b),
                              np.zeros(1, np.uint32), HOPPER, 16)
        self.assertEqual(int(d[0]), f32(1.0))

    def test_a_short_instruction_is_a_shorter_step(self):
        a, b = np.ones((1, 16)), np.zeros((1, 16))
        b[0, [0, 1, 8]] = 2.0**30, 1.0, -(2.0**30)
        for k, left in ((8, 0.0), (16, 0.0)):
            d = matrix_unit.chain("bf16", bits("bf16", a), bits("bf16", b),
                                  np.zeros(1, np.uint32), HOPPER, k)
            self.assertEqual(int(d[0]), f32(left))
        b[0, 1] = 2.0**5  # kept beside 2^30, but not by an f32 in between
        b[0, 0] = 2.0**30 + 2.0**23
        for k, left in ((8, 2.0**23), (16, 2.0**23 + 2.0**5)):
            d = matrix_unit.chain("bf16", bits("bf16", a), bits("bf16", b),
                                  np.zeros(1, np.uint32), HOPPER, k)
            self.assertEqual(int(d[0]), f32(left))

    def test_subnormal_numbers_count(self):
        self.check(HOPPER, "bf16", [2.0**-133], [1.0], 0, 1 << 16)
        self.check(HOPPER, "bf16", [2.0**-75], [2.0**-74], 0, 1)
        self.check(HOPPER, "bf16", [2.0**-75], [2.0**-75], 0, 0)
        self.check(HOPPER, "bf16", [0.0], [0.0], 1, 1)

    def test_zeros_have_a_plus_sign(self):
        minus = TYPES["bf16"].sign_bit
        a = np.full(16, minus, np.uint16)
        self.check(HOPPER, "bf16", a, [1.0], 1 << 31, 0)
        self.check(HOPPER, "bf16", [1.0, -1.0], [1.0, 1.0], 0, 0)

    def test_specials(self):
        kind = TYPES["bf16"]
        inf, nan = kind.special("inf"), kind.special("nan")
        row = lambda *x: np.array(x + (0,) * (16 - len(x)), np.uint16)
        one = int(bits("bf16", [1.0])[0])
        self.check(HOPPER, "bf16", row(inf), row(one), 0, INF)
        self.check(HOPPER, "bf16", row(inf | kind.sign_bit), row(one), f32(1.0),
                   INF | 1 << 31)
        self.check(HOPPER, "bf16", row(inf), row(0), 0, NAN)
        self.check(HOPPER, "bf16", row(nan), row(one), INF, NAN)
        self.check(HOPPER, "bf16", row(inf, inf), row(one, one | kind.sign_bit), 0, NAN)
        self.check(HOPPER, "bf16", row(inf), row(one), INF | 1 << 31, NAN)
        self.check(HOPPER, "bf16", [2.0**127, 2.0**127], [1.0, 1.0], 0, INF)
        self.check(FP8, "e4m3", np.full(32, 0x7F, np.uint8), [1.0], 0, NAN)

    def test_fp8_leaves_13_bits(self):
        one = 1.0 + 2.0**-13
        self.check(FP8, "e4m3", [1.0], [1.0], f32(one + 2.0**-13), f32(2 + 2.0**-12))
        self.check(FP8, "e4m3", [1.0], [1.0], f32(one), f32(2.0))
        self.check(FP8, "e4m3", [1.0], [1.0], f32(2.0**-14), f32(1.0))

    def test_fp8_by_f16(self):
        """Hopper's mma.sync: 0 and 1 of every 4 products, 2 and 3, then c."""
        unit = UNITS["hopper", "e4m3", "f32", "mma"]

        def check(a, b, c, want):
            rows = [np.zeros((1, 32)), np.zeros((1, 32))]
            for row, given in zip(rows, (a, b)):
                for at, x in given.items():
                    row[0, at] = x
            got = int(matrix_unit.chain(
                "e4m3", *(bits("e4m3", row) for row in rows),
                np.array([f32(c)], np.uint32), unit, 32)[0])
            self.assertEqual(got, f32(want), f"{got:#x}, want {want}")
        ones = {at: 1.0 for at in range(32)}
        check({0: 1.0}, ones, 2.0**-24, 1.0)          # an addition: ties to even
        check({0: 1.0}, ones, 1.5 * 2.0**-24, 1.0 + 2.0**-23)
        # 256 * 256 and -256 * 256 meet in one step, or not: 2^-10 is kept, or cut.
        big, small = {0: 256.0, 5: 2.0**-9, 4: -256.0}, {0: 256.0, 4: 256.0, 5: 0.5}
        check(big, small, 0.0, 0.0)
        near = {0: 16.0, 5: 2.0**-9, 4: -16.0}
        check(near, {0: 16.0, 4: 16.0, 5: 0.5}, 0.0, 2.0**-10)
        # What products 0 and 1 leave is an f32 before 2 and 3 come.
        check({0: 16.0, 1: 2.0**-8, 2: -16.0}, {0: 256.0, 1: 2.0**-6, 2: 256.0}, 0.0, 0.0)
        check({0: 16.0, 2: 2.0**-8, 3: -16.0}, {0: 256.0, 2: 2.0**-5, 3: 256.0}, 0.0,
              2.0**-13)
        # A subnormal number of e4m3 is normal in f16.
        f16 = matrix_unit.as_f16(TYPES["e4m3"], np.array([1, 0x87, 0x7F, 0x80], np.uint8))
        self.assertEqual(f16.tolist()[:2] + [int(f16[3])], [0x1800, 0xA300, 0x8000])
        self.assertTrue(np.isnan(f16.view(np.float16)[2]))

    def test_as_f16_has_every_number(self):
        for name in ("e4m3", "e5m2"):
            kind, every = TYPES[name], np.arange(256, dtype=np.uint8)
            x, y = (matrix_unit.parts(t, z) for t, z in (
                (kind, every), (TYPES["f16"], matrix_unit.as_f16(kind, every))))
            finite = ~(x.nan | x.infinite)
            self.assertTrue((x.nan == y.nan).all() and (x.infinite == y.infinite).all())
            self.assertTrue((x.negative == y.negative).all())
            self.assertTrue((np.ldexp(x.significand, x.exponent - kind.fraction) ==
                             np.ldexp(y.significand, y.exponent - 10))[finite].all())

    def test_tf32_ignores_its_last_13_bits(self):
        a = np.array([f32(1.0) | 0x1FFF] + [0] * 7, np.uint32)
        b = bits("tf32", [1.0] + [0.0] * 7)
        self.check(HOPPER_TF32, "tf32", a, b, 0, f32(1.0))
        a[0] = INF | 1  # a NaN that is an infinity without them
        self.check(HOPPER_TF32, "tf32", a, b, 0, INF)

    def test_f16_accumulators_round_to_nearest(self):
        unit = f16_out(HOPPER)
        one = 0x3C00
        for tail, want in ((2.0**-11, one), (1.5 * 2.0**-11, one + 1),
                           (3 * 2.0**-11, one + 2), (2.0**-12, one)):
            self.check(unit, "f16", [1.0], [tail], one, want)
        self.check(unit, "f16", [2.0**15], [2.0], 0, 0x7C00)
        self.check(unit, "f16", [2.0**-14], [2.0**-10], 0, 1)
        self.check(unit, "f16", [2.0**-14], [2.0**-11], 0, 0)
        self.check(unit, "f16", [2.0**-14], [1.5 * 2.0**-11], 0x8000, 1)


def by_fractions(operand, a, b, c, unit):
    """A step of finite numbers by rational arithmetic, as a number."""
    kind, acc = TYPES[operand], TYPES[unit.accumulator]

    def exponent(x, least):
        return max(int(np.frexp(x)[1]) - 1, least)
    terms = [(Fraction(x) * Fraction(y), exponent(x, kind.least) + exponent(y, kind.least)
              if x and y else unit.zero) for x, y in zip(a, b)]
    terms.append((Fraction(c), exponent(c, acc.least) if c else unit.zero))
    quantum = Fraction(2) ** (max(e for _, e in terms) - unit.fraction)
    total = sum(cdna_unit.kept(t, quantum) for t, _ in terms)
    if total == 0:
        return 0.0
    last = Fraction(2) ** (max(cdna_unit.exponent(total), acc.least) - unit.keeps)
    if unit.result_nearest:
        return float(round(total / last) * last)
    return float(cdna_unit.kept(total, last))


class Drawn(unittest.TestCase):
    FAMILIES = ("plain", "wide", "cut", "cancel", "cancel_c", "last_bit", "subnormal",
                "tiny", "zeros")

    def test_equal_to_fractions(self):
        for key in (("hopper", "bf16", "f32", "mma"), ("ampere", "f16", "f32", "mma"),
                    ("volta", "f16", "f16", "mma"), ("hopper", "tf32", "f32", "wgmma"),
                    ("hopper", "e4m3", "f32", "wgmma"), ("ada", "e5m2", "f16", "mma")):
            chip, operand, accumulator, _ = key
            unit, kind, acc = UNITS[key], TYPES[operand], TYPES[accumulator]
            drawn = matrix_unit_sums.tiles(operand, accumulator, unit.products, 3, True)
            for tile in drawn:
                if tile.family not in self.FAMILIES or tile.length != unit.products:
                    continue
                d = matrix_unit.tile_results(operand, tile, unit, unit.products)
                a, b, c = value(kind, tile.a), value(kind, tile.b), value(acc, tile.c)
                for r in range(64):
                    j = r % 8
                    want = by_fractions(operand, a[r], b[j], c[r, j], unit)
                    got = float(value(acc, d)[r, j])
                    if abs(want) < 2.0**acc.bias * 1.99:  # below the largest numbers
                        self.assertEqual(got, want, (key, tile.family, r))

    def test_drawn_sums_refute_neighbours(self):
        for key, unit in UNITS.items():
            _, operand, accumulator, _ = key
            k = {"tf32": 8, "e4m3": 32, "e5m2": 32}.get(operand, 16)
            drawn = [tile for tile in matrix_unit_sums.tiles(operand, accumulator, k, 5)
                     if tile.length == k]
            right = [matrix_unit.tile_results(operand, t, unit, k) for t in drawn]
            for name, wrong in matrix_unit.neighbours(unit, k).items():
                self.assertTrue(any(
                    (matrix_unit.tile_results(operand, t, wrong, k) != d).any()
                    for t, d in zip(drawn, right)), (key, name))

    def test_the_same_bits_again(self):
        one, two = (matrix_unit_sums.tiles("e5m2", "f16", 32, 9, True) for _ in range(2))
        other = matrix_unit_sums.tiles("e5m2", "f16", 32, 10, True)
        same = lambda x, y: all((s.a == t.a).all() and (s.b == t.b).all() and
                                (s.c == t.c).all() for s, t in zip(x, y))
        self.assertTrue(same(one, two))
        self.assertFalse(same(one, other))


class Cdna(unittest.TestCase):
    def sums(self, *numbers):
        return [Fraction(x) for x in numbers]

    def test_cdna1_rounds_once(self):
        a = self.sums(1, 2.0**-24, 2.0**-40, 0)
        self.assertEqual(cdna_unit.cdna1(a, self.sums(1, 1, 1, 0), Fraction(0)),
                         Fraction(1 + 2.0**-23))
        self.assertEqual(cdna_unit.cdna1(a[:2], self.sums(1, 1), Fraction(0)), 1)

    def test_cdna2_rounds_every_pair_and_flushes(self):
        a, ones = self.sums(1, 2.0**-24, 2.0**-24, 2.0**-24), self.sums(1, 1, 1, 1)
        self.assertEqual(cdna_unit.cdna2(a, ones, Fraction(0)), Fraction(1 + 2.0**-23))
        self.assertEqual(cdna_unit.cdna2(a[:2], ones[:2], Fraction(0)), 1)
        low = self.sums(2.0**-70, 0)
        self.assertEqual(cdna_unit.cdna2(low, self.sums(2.0**-60, 0), Fraction(0)), 0)
        self.assertEqual(cdna_unit.cdna1(low, self.sums(2.0**-60, 0), Fraction(0)),
                         Fraction(2.0**-130))

    def test_cdna3_pulls_down(self):
        a, b = self.sums(1, -(2.0**-34)), self.sums(1, 1)
        self.assertEqual(cdna_unit.cdna3(a, b, Fraction(0), -14), 1)
        # The accumulator's tail is floored: minus a little becomes minus 2^-24.
        self.assertEqual(cdna_unit.cdna3(self.sums(1), self.sums(1),
                                         Fraction(-(2.0**-40)), -14),
                         Fraction(1 - 2.0**-24))
        self.assertEqual(cdna_unit.cdna3(self.sums(1), self.sums(1),
                                         Fraction(2.0**-40), -14), 1)
        self.assertEqual(cdna_unit.cdna3([], [], Fraction(0), -14), 0)


if __name__ == "__main__":
    unittest.main()
