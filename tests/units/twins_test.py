#!/usr/bin/env python3
"""The models of matrix units in C++, reference and emulator, have matrix_unit.py's bits.

usage: twins_test.py PROGRAM [--sums N] [--seed N]

PROGRAM is lockstep_unit_twins. Every recorded file, and for each unit one set of drawn
sums (with --sums as many as make N of each unit), have to equal both models. F + 1,
F - 1, L / 2, terms to nearest and a result that is rounded otherwise have to differ
on every recorded file and in the drawn sums of every unit.
"""

import argparse
import subprocess
import sys
import threading

import numpy as np

import matrix_unit
import recorded
from matrix_unit import CHIPS, UNITS

import matrix_unit_file  # noqa: E402  (matrix_unit has put scripts/ on the path)
import matrix_unit_sums  # noqa: E402

INSTRUCTION = {"tf32": 8, "e4m3": 32, "e5m2": 32}  # products; 16 of the others


def groups_of_records():
    """(name, key, k, tiles with recorded results)."""
    for path, record in recorded.files():
        head = record.header
        key = (CHIPS[head["compute_capability"]], head["operand"], head["accumulator"],
               head["instruction"].split(".")[0])
        yield path.name, key, head["k"], record.tiles


def groups_of_draws(sums, seed):
    """The same of drawn sums with the results of matrix_unit.py."""
    for key, unit in UNITS.items():
        _, operand, accumulator, _ = key
        k, left, n = INSTRUCTION.get(operand, 16), max(sums, 1), seed
        while left > 0:
            tiles = matrix_unit_sums.tiles(operand, accumulator, k, n, sums == 0)
            tiles = tiles[:-(-left // 512)] if sums else tiles
            for tile in tiles:
                tile.d = matrix_unit.tile_results(operand, tile, unit, k)
            yield f"drawn, seed {n}", key, k, tiles
            left, n = (left - 512 * len(tiles) if sums else 0), n + 1


def as_bytes(key, k, tiles):
    yield " ".join((*key, str(k), str(len(tiles)))).encode() + b"\n"
    for tile in tiles:
        yield np.uint32(tile.length).tobytes()
        for part in (tile.a, tile.b, tile.c, tile.d):
            yield part.astype("<u4").tobytes()


def wrong(counts):
    """What is not as it should be, in the words of the program."""
    return [name for name, n in counts.items() if (n == 0) == (":" in name)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--sums", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    program = subprocess.Popen([wanted.program], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    written, failed = [], []

    def write():
        try:
            for groups in (groups_of_records(),
                           groups_of_draws(wanted.sums, wanted.seed)):
                for name, key, k, tiles in groups:
                    written.append((name, key))
                    for part in as_bytes(key, k, tiles):
                        program.stdin.write(part)
            program.stdin.close()
        except BrokenPipeError:
            failed.append("the program ends early")
        except BaseException as error:
            failed.append(repr(error))
            program.stdin.close()
    writer = threading.Thread(target=write)
    writer.start()
    refuted, total, bad = {}, 0, []
    for at, line in enumerate(program.stdout):
        words = line.decode().split()
        if not words or not words[0].isdigit():
            bad.append(line.decode().strip())
            continue
        counts = {name: int(n) for name, n in (word.split("=") for word in words[1:])}
        name, key = written[at]
        total += int(words[0])
        if name.startswith("drawn"):  # neighbours: in all draws of a unit together
            seen = refuted.setdefault(key, {})
            for neighbour in [name for name in counts if ":" in name]:
                seen[neighbour] = seen.get(neighbour, 0) + counts.pop(neighbour)
        if wrong(counts):
            bad.append(f"{name} {key}: {', '.join(f'{n}={counts[n]}' for n in wrong(counts))}")
    writer.join()
    code = program.wait()
    bad += failed + ([f"the program ends with {code}"] if code else [])
    bad += [f"{key}: {', '.join(wrong(seen))} never differ" for key, seen in
            refuted.items() if wrong(seen)]
    if set(refuted) != set(UNITS):
        bad.append("not every unit was drawn")
    print(f"{total} sums of {len(UNITS)} units; reference and emulator " +
          ("equal all of them" if not bad else "are refuted:\n" + "\n".join(bad)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
