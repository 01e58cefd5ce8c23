#!/usr/bin/env python3
"""Records what the matrix unit of this machine's NVIDIA GPU computes.

usage: record-matrix-unit.py --out FOLDER [--name NAME] [--seed N] [--only TEXT]
                             [--compute-capability X.Y]

--out FOLDER   where NAME-TYPE-INSTRUCTION.units are written; data/units holds those
               that are kept
--name NAME    of the GPU in file names; by default the model in its own name (h100)
--seed N       of the operands; 1 if not given
--only TEXT    only files whose name has TEXT in it
--compute-capability X.Y   where nvidia-smi cannot be asked

Needs nvcc, a GPU of compute capability 7.5 or later, and NumPy. It compiles
scripts/record_matrix_unit.cu, and takes less than a minute. Every instruction is first
tried on small whole numbers, whose sums are exact on every unit; where one is wrong,
nothing is written for that instruction. Exit 0: all recorded; 1: some not; 2: none,
with the reason.

docs/gpu-units.md says what the files are for.
"""

import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

import matrix_unit_file
import matrix_unit_sums
from matrix_unit_file import COLUMNS, ROWS, Tile
from matrix_unit_sums import TYPES

SOURCE = pathlib.Path(__file__).resolve().parent / "record_matrix_unit.cu"
SECONDS_A_PROGRAM = 60


@dataclasses.dataclass(frozen=True)
class Instruction:
    name: str         # in record_matrix_unit.cu
    ptx: str
    operand: str
    accumulator: str
    k: int
    short: bool       # a smaller form of another: fewer sums

    @property
    def file_part(self):
        kind = self.operand + ("" if self.accumulator == "f32" else "_f16")
        return f"{kind}-{self.ptx.split('.')[0]}_k{self.k}"


def mma(name, accumulator, operand, k, short=False):
    ptx = (f"mma.sync.aligned.m16n8k{k}.row.col.{accumulator}.{operand}.{operand}."
           f"{accumulator}")
    return Instruction(name, ptx, operand, accumulator, k, short)


def wgmma(name, accumulator, operand, k):
    ptx = (f"wgmma.mma_async.sync.aligned.m64n8k{k}.{accumulator}.{operand}."
           f"{operand}")
    return Instruction(name, ptx, operand, accumulator, k, False)


# (first compute capability, last), instruction.
INSTRUCTIONS = (
    ((7.5, 99), mma("F16MmaK8", "f32", "f16", 8, short=True)),
    ((7.5, 99), mma("F16ToF16MmaK8", "f16", "f16", 8, short=True)),
    ((8.0, 99), mma("F16MmaK16", "f32", "f16", 16)),
    ((8.0, 99), mma("F16ToF16MmaK16", "f16", "f16", 16)),
    ((8.0, 99), mma("Bf16MmaK8", "f32", "bf16", 8, short=True)),
    ((8.0, 99), mma("Bf16MmaK16", "f32", "bf16", 16)),
    ((8.0, 99), mma("Tf32MmaK4", "f32", "tf32", 4, short=True)),
    ((8.0, 99), mma("Tf32MmaK8", "f32", "tf32", 8)),
    ((8.9, 99), mma("E4m3MmaK32", "f32", "e4m3", 32)),
    ((8.9, 99), mma("E4m3ToF16MmaK32", "f16", "e4m3", 32)),
    ((8.9, 99), mma("E5m2MmaK32", "f32", "e5m2", 32)),
    ((8.9, 99), mma("E5m2ToF16MmaK32", "f16", "e5m2", 32)),
    ((9.0, 9.0), wgmma("Bf16WgmmaK16", "f32", "bf16", 16)),
    ((9.0, 9.0), wgmma("F16WgmmaK16", "f32", "f16", 16)),
    ((9.0, 9.0), wgmma("F16ToF16WgmmaK16", "f16", "f16", 16)),
    ((9.0, 9.0), wgmma("Tf32WgmmaK8", "f32", "tf32", 8)),
    ((9.0, 9.0), wgmma("E4m3WgmmaK32", "f32", "e4m3", 32)),
    ((9.0, 9.0), wgmma("E4m3ToF16WgmmaK32", "f16", "e4m3", 32)),
    ((9.0, 9.0), wgmma("E5m2WgmmaK32", "f32", "e5m2", 32)),
    ((9.0, 9.0), wgmma("E5m2ToF16WgmmaK32", "f16", "e5m2", 32)),
)


class Refused(Exception):
    """Nothing can be recorded, or not this instruction: one sentence."""


def instructions(capability):
    return [each for (first, last), each in INSTRUCTIONS
            if first <= float(capability) <= last]


def ask(*command):
    """What a program prints, or None."""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def capability_here():
    said = ask("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")
    if not said or not re.fullmatch(r"\d+\.\d", said.split("\n")[0].strip()):
        raise Refused("nvidia-smi names no GPU here: want one, or --compute-capability")
    return said.split("\n")[0].strip()


def compiled(capability, folder):
    """The program, built for this capability."""
    if not shutil.which("nvcc"):
        raise Refused("nvcc is not on the path: want CUDA's compiler")
    number = capability.replace(".", "")
    arch = number + ("a" if number == "90" else "")
    program = pathlib.Path(folder) / "record_matrix_unit"
    done = subprocess.run(
        ["nvcc", "-O1", "-std=c++17", f"-DLOCKSTEP_CC={number}",
         f"-gencode=arch=compute_{arch},code=sm_{arch}", str(SOURCE), "-o",
         str(program)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused("nvcc fails:\n" + done.stderr.strip())
    return program


def gpu_of(program):
    """(name, compute capability, versions) as the compiled program sees them."""
    done = subprocess.run([str(program), "gpu"], capture_output=True, text=True,
                          timeout=SECONDS_A_PROGRAM, check=False)
    if done.returncode != 0:
        raise Refused("no GPU runs the program: " + done.stderr.strip())
    name, capability, driver, runtime = done.stdout.rstrip("\n").split("\t")
    return name, capability, {"cuda_driver": driver, "cuda_runtime": runtime}


class Program:
    """The compiled program as a function of tiles."""

    def __init__(self, path):
        self.path = path

    def __call__(self, each, tiles):
        """d of every tile. Tiles of one length go together, in order."""
        block, order = b"", []
        for length in sorted({tile.length for tile in tiles}):
            group = [tile for tile in tiles if tile.length == length]
            order += group
            head = np.array([length // each.k, len(group)], "<u4").tobytes()
            block += head + b"".join(
                getattr(tile, name).tobytes() for name in "abc" for tile in group)
        done = subprocess.run([str(self.path), each.name], input=block,
                              capture_output=True, timeout=SECONDS_A_PROGRAM,
                              check=False)
        if done.returncode != 0:
            raise Refused(done.stderr.decode(errors="replace").strip() or
                          f"the program ends with {done.returncode}")
        kind = TYPES[each.accumulator]
        answers = np.frombuffer(done.stdout, kind.dtype)
        if answers.size != len(tiles) * ROWS * COLUMNS:
            raise Refused(f"{answers.size} results for {len(tiles)} tiles")
        of = {id(tile): d for tile, d in zip(
            order, answers.reshape(len(tiles), ROWS, COLUMNS))}
        return [of[id(tile)] for tile in tiles]


def check_whole_numbers(run, each):
    """Refused unless sums of small whole numbers are right, in chains of every length."""
    rng = np.random.default_rng(7)
    kind, acc = TYPES[each.operand], TYPES[each.accumulator]
    tiles, want = [], []
    for chain in (1, 2, 4, 8, 16):
        length = chain * each.k
        if length > matrix_unit_sums.LONGEST:
            break
        a, b = (rng.integers(-3, 4, (n, length)).astype(float) for n in (ROWS, COLUMNS))
        c = rng.integers(-8, 9, (ROWS, COLUMNS)).astype(float)
        bits = [matrix_unit_sums.nearest_below(t, x)
                for t, x in ((kind, a), (kind, b), (acc, c))]
        tiles.append(Tile(f"{chain} instructions", *bits))
        want.append(a @ b.T + c)
    for tile, d, right in zip(tiles, run(each, tiles), want):
        wrong = int((matrix_unit_sums.value(acc, d) != right).sum())
        if wrong:
            raise Refused(f"{tile.family}: {wrong} of 512 sums of small whole numbers "
                          f"are wrong; nothing is recorded")


def record(run, each, gpu, seed, path):
    """Writes one file; returns (sums, bytes)."""
    check_whole_numbers(run, each)
    tiles = matrix_unit_sums.tiles(each.operand, each.accumulator, each.k, seed,
                                   each.short)
    for tile, d in zip(tiles, run(each, tiles)):
        tile.d = d
    name, capability, versions = gpu
    header = {"instruction": each.ptx, "operand": each.operand,
              "accumulator": each.accumulator, "k": each.k, "gpu": name,
              "compute_capability": capability, **versions, "seed": seed}
    size = matrix_unit_file.write(path, header, tiles)
    return len(tiles) * ROWS * COLUMNS, size


def short_name(gpu):
    """h100 of 'NVIDIA H100 80GB HBM3'; without a model number all words."""
    words = re.findall(r"[a-z0-9]+", gpu.lower().replace("nvidia", ""))
    models = [word for word in words if re.fullmatch(r"[a-z]+\d+[a-z]*|\d{4}", word)]
    return models[0] if models else "".join(words) or "gpu"


def one(run, each, gpu, seed, path):
    """A line of the table, and whether the file was written."""
    begin = time.monotonic()
    try:
        sums, size = record(run, each, gpu, seed, path)
    except (Refused, subprocess.TimeoutExpired, OSError) as error:
        return f"{path.name:32s} not recorded: {error}", False
    return (f"{path.name:32s} {sums:6d} sums  {size:7d} bytes  "
            f"{time.monotonic() - begin:5.1f} s  {each.ptx}"), True


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--name")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--compute-capability")
    wanted = parser.parse_args()
    try:
        capability = wanted.compute_capability or capability_here()
        if not re.fullmatch(r"\d+\.\d", capability) or float(capability) < 7.5:
            raise Refused(f"compute capability {capability}: want 7.5 or later")
        wanted.out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            program = compiled(capability, folder)
            gpu = gpu_of(program)
            if gpu[1] != capability:
                raise Refused(f"the GPU has compute capability {gpu[1]}, "
                              f"not {capability}")
            name = wanted.name or short_name(gpu[0])
            jobs = [(each, wanted.out / f"{name}-{each.file_part}.units")
                    for each in instructions(capability)
                    if wanted.only in f"{name}-{each.file_part}"]
            if not jobs:
                raise Refused(f"no file name has '{wanted.only}' in it")
            print(f"{gpu[0]}, compute capability {capability}", flush=True)
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                done = []
                for line, ok in pool.map(lambda job: one(
                        Program(program), job[0], gpu, wanted.seed, job[1]), jobs):
                    print(line, flush=True)
                    done.append(ok)
    except (Refused, subprocess.TimeoutExpired, OSError) as error:
        print(f"record-matrix-unit: {error}", file=sys.stderr)
        return 2
    print(f"{sum(done)} of {len(done)} instructions recorded in {wanted.out}")
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
