"""What the matrix unit of an NVIDIA GPU computes, bit for bit, in integers.

A step takes L products and the accumulator. All terms are aligned to the largest
exponent, where a product has the sum of its operands' exponents, although its
significand may reach 4, and a zero has e0. Each term is cut, toward zero, to F bits
behind that exponent; the cut terms are added exactly; the sum is rounded to the
accumulator. An instruction of k products is k / L steps in ascending order, at least
one, and a longer sum is a chain of instructions.

docs/gpu-units.md says where every row of UNITS comes from, and which were recorded.
"""

import dataclasses
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import matrix_unit_sums  # noqa: E402
from matrix_unit_sums import TYPES  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Unit:
    """One unit with one type of accumulator."""
    products: int              # L
    fraction: int              # F
    zero: int                  # e0
    accumulator: str = "f32"
    keeps: int = 23            # bits behind the leading one of what a step leaves
    result_nearest: bool = False  # to nearest, ties to even; otherwise toward zero
    terms_nearest: bool = False   # no unit is known that does so: a planted fault
    # fp8 without an fp8 unit: operands become f16, and c is added after an instruction.
    by_f16: bool = False


def f16_out(unit):
    """The same unit with f16 accumulators: its e0 is as far below the smallest
    exponent, and the sum is rounded to nearest."""
    return dataclasses.replace(unit, accumulator="f16", keeps=10, result_nearest=True,
                               zero=unit.zero + 112)


def low_precision(products, zero):
    """fp8 on Ada and on Hopper's wgmma: 13 bits, for terms and for what is left."""
    return Unit(products, 13, zero, keeps=13)


def narrow_out(products, zero):
    """The same with f16 accumulators."""
    return f16_out(low_precision(products, zero))


VOLTA, TURING = Unit(4, 23, -131), Unit(8, 24, -132)
AMPERE, AMPERE_TF32 = Unit(8, 24, -132), Unit(4, 24, -132)
HOPPER, HOPPER_TF32 = Unit(16, 25, -133), Unit(8, 25, -133)

# (chip, operand, accumulator, instruction) -> unit. The instruction is the first word of
# its PTX name.
UNITS = {
    ("volta", "f16", "f32", "mma"): VOLTA,
    ("volta", "f16", "f16", "mma"): f16_out(VOLTA),
    ("turing", "f16", "f32", "mma"): TURING,
    ("turing", "f16", "f16", "mma"): f16_out(TURING),
}
for _chip in ("ampere", "ada"):
    UNITS.update({
        (_chip, "f16", "f32", "mma"): AMPERE,
        (_chip, "f16", "f16", "mma"): f16_out(AMPERE),
        (_chip, "bf16", "f32", "mma"): AMPERE,
        (_chip, "tf32", "f32", "mma"): AMPERE_TF32,
    })
for _chip, _instructions in (("hopper", ("mma", "wgmma")), ("blackwell", ("mma",))):
    for _instruction in _instructions:
        UNITS.update({
            (_chip, "f16", "f32", _instruction): HOPPER,
            (_chip, "f16", "f16", _instruction): f16_out(HOPPER),
            (_chip, "bf16", "f32", _instruction): HOPPER,
            (_chip, "tf32", "f32", _instruction): HOPPER_TF32,
        })
for _operand in ("e4m3", "e5m2"):
    UNITS.update({
        ("ada", _operand, "f32", "mma"): low_precision(16, -132),
        ("ada", _operand, "f16", "mma"): narrow_out(16, -132),
        ("hopper", _operand, "f32", "mma"): dataclasses.replace(HOPPER, by_f16=True),
        ("hopper", _operand, "f16", "mma"): dataclasses.replace(
            f16_out(HOPPER), by_f16=True),
        ("hopper", _operand, "f32", "wgmma"): low_precision(32, -133),
        ("hopper", _operand, "f16", "wgmma"): narrow_out(32, -133),
    })

CHIPS = {"7.0": "volta", "7.2": "volta", "7.5": "turing", "8.0": "ampere",
         "8.6": "ampere", "8.7": "ampere", "8.9": "ada", "9.0": "hopper",
         "10.0": "blackwell", "10.3": "blackwell", "12.0": "blackwell",
         "12.1": "blackwell"}


def unit_of(header):
    """The unit that a file's sums were recorded on."""
    key = (CHIPS.get(header["compute_capability"]), header["operand"],
           header["accumulator"], header["instruction"].split(".")[0])
    if key not in UNITS:
        raise KeyError(f"no model of {key}: add a row to UNITS")
    return UNITS[key]


@dataclasses.dataclass
class Parts:
    """Numbers taken apart: sign * significand * 2^(exponent - fraction)."""
    negative: np.ndarray
    significand: np.ndarray
    exponent: np.ndarray   # of a subnormal number the smallest normal one
    infinite: np.ndarray
    nan: np.ndarray


def parts(kind, bits):
    bits = bits.astype(np.int64) >> kind.unused
    sign = kind.sign_bit >> kind.unused
    magnitude = bits & (sign - 1)
    field, rest = magnitude >> kind.fraction, magnitude & ((1 << kind.fraction) - 1)
    last = field == (1 << kind.exponent_bits) - 1
    if kind.infinity:
        infinite, nan = last & (rest == 0), last & (rest != 0)
    else:
        infinite, nan = np.zeros_like(last), last & (rest == (1 << kind.fraction) - 1)
    normal = field > 0
    return Parts((bits & sign) != 0, rest + (normal << kind.fraction),
                 np.maximum(field, 1) - kind.bias, infinite, nan)


def cut(size, shift, nearest):
    """size * 2^shift for size >= 0, toward zero or (a planted fault) to nearest."""
    right = np.clip(-shift, 0, 62)
    if nearest:
        size = size + np.where(right > 0, 1 << np.maximum(right - 1, 0), 0)
    return (size >> right) << np.maximum(shift, 0)


def rounded(total, exponent, unit):
    """Bits of total * 2^exponent in the accumulator's type."""
    kind = TYPES[unit.accumulator]
    size = np.abs(total)
    _, length = np.frexp(size.astype(np.float64))  # exact: below 2^53
    top = np.maximum(length - 1 + exponent, kind.least)
    right = top - unit.keeps - exponent  # how many bits of size go away
    away = np.clip(right, 0, 62)
    kept = (size >> away) << np.clip(-right, 0, 62)
    if unit.result_nearest:
        rest, half = size - ((size >> away) << away), 1 << np.maximum(away - 1, 0)
        up = (away > 0) & ((rest > half) | ((rest == half) & (kept & 1 == 1)))
        kept = kept + up
    kept = kept << (kind.fraction - unit.keeps)
    # A kept leading one counts in the exponent's field, and so does a carry.
    bits = np.where(kept == 0, 0,
                    ((top - kind.least) << kind.fraction) + kept)
    bits = np.minimum(bits, kind.special("inf"))
    return np.where(bits == 0, 0, bits | np.where(total < 0, kind.sign_bit, 0))


def step(operand, a, b, c, unit):
    """Bits that one step leaves: a, b [n][L] and c [n] as bits."""
    kind, acc = TYPES[operand], TYPES[unit.accumulator]
    x, y, z = parts(kind, a), parts(kind, b), parts(acc, c)
    negative = np.concatenate([x.negative ^ y.negative, z.negative[:, None]], 1)
    size = np.concatenate([x.significand * y.significand, z.significand[:, None]], 1)
    behind = np.full(size.shape[1], 2 * kind.fraction)
    behind[-1] = acc.fraction
    exponent = np.concatenate([x.exponent + y.exponent, z.exponent[:, None]], 1)
    exponent = np.where(size == 0, unit.zero, exponent)
    top = exponent.max(1)
    kept = cut(size, unit.fraction - behind + exponent - top[:, None],
               unit.terms_nearest)
    total = np.where(negative, -kept, kept).sum(1)
    bits = rounded(total, top - unit.fraction, unit)

    zero_x, zero_y = x.significand == 0, y.significand == 0
    nan = (x.nan | y.nan | (x.infinite & zero_y) | (y.infinite & zero_x)).any(1) | z.nan
    infinite = np.concatenate([x.infinite | y.infinite, z.infinite[:, None]], 1)
    plus, minus = (infinite & ~negative).any(1), (infinite & negative).any(1)
    infinity = acc.special("inf")
    bits = np.where(plus, infinity, bits)
    bits = np.where(minus, infinity | acc.sign_bit, bits)
    bits = np.where(nan | (plus & minus), acc.sign_bit - 1, bits)
    return bits.astype(acc.dtype)


def as_f16(kind, bits):
    """The same numbers as f16: a subnormal number of e4m3 is a normal one there."""
    special = parts(kind, bits)
    f16, finite = TYPES["f16"], ~(special.nan | special.infinite)
    wide = matrix_unit_sums.nearest_below(
        f16, matrix_unit_sums.value(kind, np.where(finite, bits, 0)))
    wide |= np.where(special.negative, f16.sign_bit, 0).astype(f16.dtype)
    top = np.where(special.nan, f16.special("nan"), f16.special("inf"))
    return np.where(finite, wide, top | (wide & f16.sign_bit)).astype(f16.dtype)


def added(kind, x, y):
    """Bits of the sum of two numbers, to nearest, as an ordinary addition has it."""
    real = {32: np.float32, 16: np.float16}[kind.bits]
    with np.errstate(all="ignore"):
        total = x.view(real) + y.view(real)
    return np.where(np.isnan(total), kind.dtype.type(kind.sign_bit - 1),
                    total.view(kind.dtype))


def by_f16(operand, a, b, c, unit, k):
    """An fp8 instruction of Hopper's mma.sync, which CUDA 13.0 makes of two of f16: the
    first takes the products 0 and 1 of every 4, from zero, the second 2 and 3, and c is
    added to what they leave."""
    kind = TYPES[operand]
    a, b = as_f16(kind, a), as_f16(kind, b)
    order = np.argsort(np.arange(k) % 4 // 2, kind="stable")
    plain = dataclasses.replace(unit, by_f16=False)
    for at in range(0, a.shape[1], k):
        d = chain("f16", a[:, at + order], b[:, at + order], np.zeros_like(c), plain,
                  k // 2)
        c = added(TYPES[unit.accumulator], c, d)
    return c


def chain(operand, a, b, c, unit, k):
    """Bits that instructions of k products leave: a, b [n][K], c [n]."""
    if unit.by_f16:
        return by_f16(operand, a, b, c, unit, k)
    length = min(unit.products, k)
    for at in range(0, a.shape[1], length):
        c = step(operand, a[:, at:at + length], b[:, at:at + length], c, unit)
    return c


def tile_results(operand, tile, unit, k):
    """d [64][8] of a tile, as bits."""
    rows, columns = len(tile.a), len(tile.b)
    d = chain(operand, np.repeat(tile.a, columns, 0), np.tile(tile.b, (rows, 1)),
              tile.c.reshape(-1), unit, k)
    return d.reshape(rows, columns)


def neighbours(unit, k):
    """Units that are wrong by one choice, by name: a recording has to refute each."""
    length = min(unit.products, k)
    return {
        "F + 1": dataclasses.replace(unit, fraction=unit.fraction + 1),
        "F - 1": dataclasses.replace(unit, fraction=unit.fraction - 1),
        "L / 2": dataclasses.replace(unit, products=length // 2),
        "terms to nearest": dataclasses.replace(unit, terms_nearest=True),
        "result rounded otherwise": dataclasses.replace(
            unit, result_nearest=not unit.result_nearest),
    }
