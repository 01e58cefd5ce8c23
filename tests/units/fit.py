#!/usr/bin/env python3
"""Which unit a recording fits: fit.py FILE...

Tries every L, F, number of kept bits and rounding on the file's first tiles, prints the
five best, and how the project's model does on the whole file. For a GPU that has no row
in matrix_unit.py yet, or one that refutes its row.
"""

import dataclasses
import itertools
import sys

import matrix_unit
import recorded
import matrix_unit_file
from matrix_unit_sums import TYPES

FAMILIES = ("plain", "cut", "cancel", "cancel_c")


def wrong_sums(record, unit, tiles):
    return sum(int((matrix_unit.tile_results(
        record.header["operand"], tile, unit, record.header["k"]) != tile.d).sum())
        for tile in tiles)


def candidates(record):
    accumulator = record.header["accumulator"]
    fraction = TYPES[accumulator].fraction
    zero = -133 if accumulator == "f32" else -21
    lengths = [n for n in (2, 4, 8, 16, 32) if n <= record.header["k"]]
    for products, f, keeps, nearest in itertools.product(
            lengths, range(10, 36), sorted({min(13, fraction), fraction}),
            (False, True)):
        if f >= keeps or keeps == fraction:
            yield matrix_unit.Unit(products, f, zero, accumulator, keeps, nearest)


def fit(path):
    record = matrix_unit_file.read(path)
    tiles = [t for t in record.tiles if t.family in FAMILIES][:10]
    scored = sorted(((wrong_sums(record, unit, tiles), i, unit)
                     for i, unit in enumerate(candidates(record))))
    print(f"{path}: {record.header['gpu']}, {record.header['instruction']}")
    for wrong, _, unit in scored[:5]:
        print(f"  {wrong:5d} of {512 * len(tiles)} differ: L = {unit.products}, "
              f"F = {unit.fraction}, keeps {unit.keeps}, "
              f"{'to nearest' if unit.result_nearest else 'toward zero'}")
    best = scored[0][2]
    try:
        best = matrix_unit.unit_of(record.header)
        print("  the model of this unit:", dataclasses.asdict(best))
    except KeyError as error:
        print(f"  {error.args[0]}; the whole file with the best:")
    counts = {}
    for tile, want in recorded.differing(record, best):
        count, first = counts.get(tile.family, (0, recorded.show(record, tile, want)))
        counts[tile.family] = count + int((want != tile.d).sum()), first
    print(f"  {sum(n for n, _ in counts.values())} of {record.sums} sums differ")
    for count, first in counts.values():
        print(f"    {count}: {first}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        fit(name)
