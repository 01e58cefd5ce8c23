#!/usr/bin/env python3
"""Every recorded sum of one operand type has the bits of its unit's model.

usage: records_test.py OPERAND [FOLDER]

FOLDER is data/units if not given. Each file has to refute F + 1, F - 1, L / 2, terms
to nearest and a result that is rounded otherwise, too. Exit 77, which is a skip, where
there is no such file.
"""

import pathlib
import sys

import recorded


def main():
    operand = sys.argv[1]
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else recorded.FOLDER
    found = recorded.files(operand, folder)
    if not found:
        print(f"skipped: no inner products of {operand} are recorded in {folder}")
        return 77
    bad = 0
    for path, record in found:
        lines = recorded.complaints(record)
        bad += bool(lines)
        print(f"{path.name}: {record.sums} sums, " +
              ("equal to the model; 5 wrong neighbours refuted" if not lines else
               "\n    ".join(["the model is refuted:"] + lines)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
