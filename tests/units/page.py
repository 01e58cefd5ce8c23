#!/usr/bin/env python3
"""The tables of docs/gpu-units.md: page.py [--write]

Without --write: exit 1 unless the page has the tables as they follow from
matrix_unit.py and from the files in data/units.
"""

import difflib
import sys

import recorded
from matrix_unit import CHIPS, UNITS

PAGE = recorded.ROOT / "docs" / "gpu-units.md"

# (chip, fp8 or not): who published recorded sums that have the model's bits. f16
# accumulators are in no published recording that was looked at.
PUBLIC = {("volta", False): "10 000", ("ampere", False): "40 000",
          ("ada", False): "40 000", ("ada", True): "30 000",
          ("hopper", False): "40 000", ("hopper", True): "20 000",
          ("blackwell", False): "20 000"}


def evidence(key, records):
    """How the row is known."""
    chip, operand, accumulator, instruction = key
    ours = [record for _, record in records
            if (CHIPS.get(record.header["compute_capability"]), record.header["operand"],
                record.header["accumulator"],
                record.header["instruction"].split(".")[0]) == key]
    if ours:
        sums = sum(record.sums for record in ours)
        gpus = sorted({record.header["gpu"] for record in ours})
        return f"**{sums} sums recorded here**, {', '.join(gpus)}"
    fp8 = operand in ("e4m3", "e5m2")
    known = PUBLIC.get((chip, fp8))
    if not known or accumulator == "f16" or (
            chip == "hopper" and (fp8 != (instruction == "wgmma"))):
        return "a public model only"
    return f"{known} public records of the chip"


def unit_rows(records):
    yield "| chip | operands | accumulator | instruction | L | F | e0 | leaves | known by |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for key, unit in UNITS.items():
        leaves = f"{unit.keeps} bits, " + (
            "to nearest" if unit.result_nearest else "toward zero") + (
                "; by f16" if unit.by_f16 else "")
        yield (f"| {key[0]} | {key[1]} | {key[2]} | `{key[3]}` | {unit.products} | "
               f"{unit.fraction} | {unit.zero} | {leaves} | {evidence(key, records)} |")


def file_rows(records):
    if not records:
        yield "No GPU is recorded yet."
        return
    yield "| file | instruction | GPU | sums |"
    yield "|---|---|---|---|"
    for path, record in records:
        yield (f"| `{path.name}` | `{record.header['instruction']}` | "
               f"{record.header['gpu']} | {record.sums} |")


def with_tables(text, records):
    for name, rows in (("units", unit_rows), ("files", file_rows)):
        begin, end = f"<!-- {name}: tests/units/page.py -->\n", f"<!-- end {name} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        if not rest or not after:
            sys.exit(f"{PAGE}: the marks of the table '{name}' are gone")
        text = before + begin + "\n".join(rows(records)) + "\n" + end + after
    return text


def main():
    text = PAGE.read_text(encoding="utf-8")
    want = with_tables(text, recorded.files())
    if "--write" in sys.argv[1:]:
        PAGE.write_text(want, encoding="utf-8")
        return 0
    if text == want:
        return 0
    sys.stdout.writelines(difflib.unified_diff(
        text.splitlines(True), want.splitlines(True), "docs/gpu-units.md",
        "as the models and data/units have it"))
    print("run: python3 tests/units/page.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
