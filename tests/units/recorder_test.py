#!/usr/bin/env python3
"""scripts/record-matrix-unit.py on a GPU of straw, and files held against models.

usage: recorder_test.py

nvcc and nvidia-smi are scripts here: the first makes a program that answers what a
model answers. It shows everything but what a GPU computes.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tracemalloc
import unittest
import zlib

import matrix_unit
import recorded

import matrix_unit_file
from matrix_unit_file import BadFile

SCRIPTS = recorded.ROOT / "scripts"

_spec = importlib.util.spec_from_file_location("recorder",
                                               SCRIPTS / "record-matrix-unit.py")
recorder = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(recorder)

# The program that nvcc of straw "compiles": the interface of record_matrix_unit.cu.
PROGRAM = """#!{python} -B
import importlib.util, os, sys
import numpy as np
sys.path[:0] = [{here!r}, {scripts!r}]
import matrix_unit
from matrix_unit_file import Tile
from matrix_unit_sums import TYPES
spec = importlib.util.spec_from_file_location("r", {scripts!r} + "/record-matrix-unit.py")
r = importlib.util.module_from_spec(spec)
sys.modules["r"] = r
spec.loader.exec_module(r)
if sys.argv[1] == "gpu":
    print("NVIDIA H100 Straw\\t{capability}\\t13000\\t13000")
    sys.exit()
if sys.argv[1] in os.environ.get("BROKEN", ""):
    sys.exit("run: an illegal instruction was encountered")
each = next(i for _, i in r.INSTRUCTIONS if i.name == sys.argv[1])
kind, acc = TYPES[each.operand].dtype, TYPES[each.accumulator].dtype
unit = matrix_unit.UNITS["hopper", each.operand, each.accumulator,
                         each.ptx.split(".")[0]]
data, at = sys.stdin.buffer.read(), 0
def take(dtype, *shape):
    global at
    n = int(np.prod(shape))
    out = np.frombuffer(data, dtype, n, at).reshape(shape)
    at += n * dtype.itemsize
    return out
while at < len(data):
    chain, n = take(np.dtype("<u4"), 2)
    length = int(chain) * each.k
    a, b = take(kind, n, 64, length), take(kind, n, 8, length)
    c = take(acc, n, 64, 8)
    for i in range(n):
        b_i = b[i][::-1] if sys.argv[1] in os.environ.get("CROSSED", "") else b[i]
        d = matrix_unit.tile_results(each.operand, Tile("", a[i], b_i, c[i]), unit,
                                     each.k)
        sys.stdout.buffer.write(d.tobytes())
"""
NVCC = """#!{python}
import os, shutil, sys
out = sys.argv[sys.argv.index("-o") + 1]
assert "-gencode=arch=compute_90a,code=sm_90a" in sys.argv, sys.argv
assert "-DLOCKSTEP_CC=90" in sys.argv, sys.argv
shutil.copy({program!r}, out)
os.chmod(out, 0o755)
"""
SMI = """#!/bin/sh
echo 9.0
"""


def write(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


class Straw(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.make("9.0")

    def make(self, capability):
        here = str(pathlib.Path(__file__).resolve().parent)
        program = self.folder / "program"
        write(program, PROGRAM.format(python=sys.executable, here=here,
                                      scripts=str(SCRIPTS), capability=capability))
        write(self.folder / "nvcc", NVCC.format(python=sys.executable,
                                                program=str(program)))
        write(self.folder / "nvidia-smi", SMI)

    def run_recorder(self, *arguments, **environment):
        out = self.folder / "out"
        done = subprocess.run(
            [sys.executable, "-B", str(SCRIPTS / "record-matrix-unit.py"), "--out",
             str(out), *arguments], capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}",
                 **environment})
        return done, recorded.files(folder=out)

    def test_records_and_models_agree(self):
        done, files = self.run_recorder("--only", "bf16-mma_k8")
        self.assertEqual(done.returncode, 0, done.stderr)
        (path, record), = files
        self.assertEqual(path.name, "h100-bf16-mma_k8.units")
        self.assertEqual(record.header["instruction"],
                         "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
        self.assertEqual(recorded.complaints(record), [])
        self.assertIn("1 of 1 instructions recorded", done.stdout)

    def test_one_instruction_fails_alone(self):
        done, files = self.run_recorder("--only", "bf16-", "--name", "straw",
                                        BROKEN="Bf16MmaK16", CROSSED="Bf16WgmmaK16")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([path.name for path, _ in files], ["straw-bf16-mma_k8.units"])
        self.assertIn("not recorded: run: an illegal instruction", done.stdout)
        self.assertRegex(done.stdout, r"not recorded: 1 instructions: \d+ of 512 sums of "
                         "small whole numbers are wrong")

    def test_refusals(self):
        self.make("8.0")
        for arguments, sentence in (
                ((), "the GPU has compute capability 8.0, not 9.0"),
                (("--compute-capability", "7.0"), "want 7.5 or later"),
                (("--compute-capability", "x"), "want 7.5 or later")):
            done, files = self.run_recorder("--only", "bf16-mma_k8", *arguments)
            self.assertEqual((done.returncode, files), (2, []))
            self.assertIn(sentence, done.stderr)
        self.make("9.0")
        done, _ = self.run_recorder("--only", "f80")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no file name has 'f80' in it", done.stderr)


class Files(unittest.TestCase):
    """A recording made by a model passes, made by a wrong neighbour fails."""

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)

    def recording(self, unit, each):
        def run(each, tiles):
            return [matrix_unit.tile_results(each.operand, t, unit, each.k)
                    for t in tiles]
        path = self.folder / "x.units"
        gpu = ("NVIDIA H100 Straw", "9.0", {"cuda_driver": "0", "cuda_runtime": "0"})
        recorder.record(run, each, gpu, 1, path)
        return path

    def test_planted_neighbours_are_refused(self):
        for name in ("Bf16MmaK8", "F16ToF16MmaK8", "Tf32MmaK4"):
            each = next(i for _, i in recorder.INSTRUCTIONS if i.name == name)
            unit = matrix_unit.UNITS["hopper", each.operand, each.accumulator, "mma"]
            record = matrix_unit_file.read(self.recording(unit, each))
            self.assertEqual(recorded.complaints(record), [])
            for what, wrong in matrix_unit.neighbours(unit, each.k).items():
                record = matrix_unit_file.read(self.recording(wrong, each))
                lines = recorded.complaints(record)
                self.assertTrue(any("sums differ" in line for line in lines), what)

    def test_a_recording_that_shows_nothing_is_refused(self):
        each = next(i for _, i in recorder.INSTRUCTIONS if i.name == "Bf16MmaK8")
        unit = matrix_unit.UNITS["hopper", "bf16", "f32", "mma"]
        record = matrix_unit_file.read(self.recording(unit, each))
        record.tiles = []
        self.assertEqual(len(recorded.complaints(record)),
                         len(matrix_unit.neighbours(unit, 8)))

    def test_a_chip_without_a_model_is_named(self):
        each = next(i for _, i in recorder.INSTRUCTIONS if i.name == "Bf16MmaK8")
        record = matrix_unit_file.read(self.recording(
            matrix_unit.UNITS["hopper", "bf16", "f32", "mma"], each))
        record.header["compute_capability"] = "13.0"
        line, = recorded.complaints(record)
        self.assertIn("no model of (None, 'bf16', 'f32', 'mma')", line)

    def test_damaged_files(self):
        each = next(i for _, i in recorder.INSTRUCTIONS if i.name == "Bf16MmaK8")
        path = self.recording(matrix_unit.UNITS["hopper", "bf16", "f32", "mma"], each)
        good = path.read_bytes()
        first, _, packed = good.partition(b"\n")
        header = json.loads(first)
        changed = json.dumps({**header, "k": 16}).encode() + b"\n" + packed

        def with_header(**fields):
            return json.dumps({**header, **fields}).encode() + b"\n" + packed

        unnamed = json.dumps({k: v for k, v in header.items() if k != "k"}).encode()
        for data, sentence in ((good[:-20], "zlib"), (changed, "sha256"),
                               (b"{}\n" + packed, "no header of format"),
                               (unnamed + b"\n" + packed, "lacks 'k'"),
                               (b"", "no header"),
                               (b"[" * 200000 + b"\n" + packed, "no header and zlib"),
                               (good[:-1], "does not have the"),
                               (with_header(tiles=[["x", 1 << 40]]), "K at most"),
                               (with_header(tiles=[["x", 1 << 16]] * 1000), "are read"),
                               (with_header(tiles=5), "no list"),
                               (with_header(operand=["bf16"]), "'operand' is none of")):
            path.write_bytes(data)
            with self.assertRaisesRegex(BadFile, sentence):
                matrix_unit_file.read(path)

    def test_a_bomb_is_not_unpacked(self):
        each = next(i for _, i in recorder.INSTRUCTIONS if i.name == "Bf16MmaK8")
        path = self.recording(matrix_unit.UNITS["hopper", "bf16", "f32", "mma"], each)
        first = path.read_bytes().partition(b"\n")[0]
        bomb = zlib.compress(bytes(1 << 28), 9)
        path.write_bytes(first + b"\n" + bomb)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        with self.assertRaisesRegex(BadFile, "does not have the"):
            matrix_unit_file.read(path)
        self.assertLess(tracemalloc.get_traced_memory()[1], 1 << 26)

    def test_every_instruction_has_a_model(self):
        for _, each in recorder.INSTRUCTIONS:
            for capability in ("7.5", "8.0", "8.9", "9.0"):
                if each in recorder.instructions(capability):
                    matrix_unit.unit_of({
                        "compute_capability": capability, "operand": each.operand,
                        "accumulator": each.accumulator, "instruction": each.ptx})

    def test_the_source_has_every_instruction(self):
        source = (SCRIPTS / "record_matrix_unit.cu").read_text(encoding="utf-8")
        for _, each in recorder.INSTRUCTIONS:
            self.assertIn(f"INSTRUCTION({each.name})", source)
        for gpu, name in (("NVIDIA H100 80GB HBM3", "h100"), ("Tesla V100-SXM2", "v100"),
                          ("NVIDIA GeForce RTX 4090", "4090"), ("NVIDIA L40S", "l40s")):
            self.assertEqual(recorder.short_name(gpu), name)


if __name__ == "__main__":
    unittest.main()
