"""Recorded sums held against the model of their unit."""

import pathlib
import sys

import matrix_unit

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import matrix_unit_file  # noqa: E402
from matrix_unit_sums import TYPES, value  # noqa: E402

FOLDER = ROOT / "data" / "units"


def files(operand=None, folder=FOLDER):
    """(path, Record) of every file, or of one operand type."""
    found = [(path, matrix_unit_file.read(path)) for path in
             sorted(folder.glob("*.units"))]
    return [(path, record) for path, record in found
            if operand in (None, record.header["operand"])]


def differing(record, unit):
    """(tile, results that the unit would leave) of tiles that are not its."""
    for tile in record.tiles:
        d = matrix_unit.tile_results(record.header["operand"], tile, unit,
                                     record.header["k"])
        if not (d == tile.d).all():
            yield tile, d


def show(record, tile, want):
    """One sum that differs: its terms that are not zero, all bits."""
    operand = TYPES[record.header["operand"]]
    r, j = (int(x[0]) for x in (want != tile.d).nonzero())
    terms = [f"[{i}] {x:#x} * {y:#x}" for i, (x, y) in
             enumerate(zip(tile.a[r].tolist(), tile.b[j].tolist()))
             if value(operand, tile.a[r, i:i + 1])[0] and
             value(operand, tile.b[j, i:i + 1])[0]]
    return (f"family {tile.family}, K = {tile.length}, row {r}, column {j}: recorded "
            f"{int(tile.d[r, j]):#010x}, the model has {int(want[r, j]):#010x}; "
            f"c = {int(tile.c[r, j]):#010x}, " +
            (", ".join(terms[:8]) or "all products zero") +
            (f" and {len(terms) - 8} more" if len(terms) > 8 else ""))


def complaints(record):
    """Sentences: where the unit's model is not what was recorded, and which wrong
    neighbour of it the recording does not refute."""
    try:
        unit = matrix_unit.unit_of(record.header)
    except KeyError as error:
        return [error.args[0]]
    found = {}
    for tile, want in differing(record, unit):
        count, first = found.get(tile.family, (0, show(record, tile, want)))
        found[tile.family] = count + int((want != tile.d).sum()), first
    lines = [f"{count} sums differ; {first}" for count, first in found.values()]
    for name, wrong in matrix_unit.neighbours(unit, record.header["k"]).items():
        if next(differing(record, wrong), None) is None:
            lines.append(f"{name} has the same bits everywhere")
    return lines
