#!/usr/bin/env python3
"""Kernels whose arrays lie on a device, device="cuda": by a stub of torch with two GPUs
in NumPy's memory. Each misuse of a device gets its sentence."""
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
STUB = os.path.join(HERE, "stub_torch")
sys.path[:0] = [PACKAGE, os.path.join(HERE, "..", "cli")]
os.environ["PYTHONPATH"] = os.pathsep.join([PACKAGE, STUB])
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import program  # noqa: E402
from lockstep.device_block import RED, Block  # noqa: E402

SHAPE = "attention_forward hq=4 hkv=2 sq={} skv=9 d=8 cap=30 mask=causal&window:6,0 align=br"
CASE = SHAPE.format(5)
STRIDED = "attention_forward hq=2 sq=5 skv=9 d=8 mask=causal strides=k:200/100/11/1"
EQUAL = "attention_forward hq=2 sq=5 skv=5 d=8 mask=causal"

# Function of device_kernels.py: exit code, and words of the sentence.
WRONG = {
    "on_another_stream": (3, "output 0 was not ready on the stream of the call: work on another "
                             "stream was not waited for"),
    "in_place_on_another_stream": (3, "o was not ready on the stream of the call"),
    "on_the_cpu": (3, "o lies on cpu, want cuda:0: with device= outputs stay where"),
    "on_the_other_device": (3, "o lies on cuda:1, want cuda:0"),
    "of_numpy": (3, "o is not a tensor of torch, want one on cuda:0"),
    "writes_inputs": (3, "wrote into its input k"),
    "returns_an_input": (3, "o lies in the memory of the input q"),
    "returns_the_same_memory": (3, "o lies in memory that an earlier call returned"),
    "writes_behind": (3, "wrote outside of lse, behind it"),
    "keeps_inputs": (1, "the kernel holds k, v after its call"),
    "keeps_copies": (1, "o at ["),
    "ignores_strides": (1, "o at ["),
}


def judged(name, *cases, more=(), **environment):
    return program.run("verify", *(cases or [CASE]), "--candidate",
                       f"py:device_kernels.py:{name}", "--profile", "from-candidate", "--explain-budget", "0", *more,
                       cwd=HERE, env=environment)


class BlockTest(unittest.TestCase):
    def setUp(self):
        memory = np.arange(4096, dtype=np.uint8)
        # Gaps between rows, and addresses that no allocation has.
        self.arrays = {"a": memory[3:603].reshape(6, 100)[:, :7], "b": memory[1001:1009]}
        self.block = Block(self.arrays, 512)

    def test_alignment_and_room_are_kept(self):
        ends = [0]
        for name, array in self.arrays.items():
            begin, end = self.block.places[name]
            self.assertEqual(begin % 256, array.__array_interface__["data"][0] % 256)
            self.assertGreaterEqual(begin - ends[-1], 512)
            ends.append(end)
        self.assertGreaterEqual(self.block.bytes - ends[-1], 512)

    def test_contents_there_and_back(self):
        staged = self.block.staged()
        begin, end = self.block.places["a"]
        self.assertEqual(end - begin, 507)
        self.assertEqual(staged[begin + 100], self.arrays["a"][1, 0])
        staged[begin + 100] = 77
        self.block.take_back(staged)
        self.assertEqual(self.arrays["a"][1, 0], 77)

    def test_a_trespass_is_told_by_name_and_side(self):
        for name, place, side in (("a", 0, "before"), ("b", 1, "behind"), ("b", 0, "before")):
            staged = self.block.staged()
            self.assertIsNone(self.block.trespass(staged))
            byte = self.block.places[name][place] - (1 if side == "before" else 0)
            staged[byte] = RED ^ 1
            self.assertEqual(self.block.trespass(staged), (name, side))


class DeviceTest(unittest.TestCase):
    def test_right_kernels_pass(self):
        for name, gpu in (("right", 0), ("second", 1), ("in_place", 0),
                          ("on_a_joined_stream", 0), ("looks_at_old_inputs", 0)):
            with self.subTest(name):
                done = judged(name, CASE, EQUAL, STRIDED)
                self.assertEqual(done.code, 0, done.out + done.err)
                self.assertIn(f"on Stub GPU {gpu}", done.out + done.err)

    def test_each_misuse_has_its_sentence(self):
        for name, (code, words) in WRONG.items():
            with self.subTest(name):
                done = judged(name, CASE, EQUAL, STRIDED)
                self.assertEqual(done.code, code, done.out + done.err)
                self.assertIn(words, done.out + done.err)

    def test_large_gaps_are_refused_by_name(self):
        for name, strides in (("right", "k:200/100/1073741824/1"),
                              ("in_place", "o:2147483648/100/8/1")):
            with self.subTest(strides):
                done = judged(name, f"{SHAPE.format(5)} b=2 strides={strides}")
                self.assertEqual(done.code, 77, done.out + done.err)
                self.assertIn("GiB, nearly all of it gaps, which a device would have to hold",
                              done.out + done.err)

    def test_an_illegal_access_costs_one_case(self):
        done = judged("breaks_at_seven", *(SHAPE.format(n) for n in (5, 7, 6, 8)))
        said = done.out + done.err
        self.assertIn("4 cases: 3 pass, 1 error", said)
        self.assertIn("an illegal memory access was encountered, seen when the host waited for "
                      "cuda:0", said)

    def test_devices_that_are_not_there(self):
        for device, gpus, words in (
                ("cuda:2", "0,1", "torch sees 2 GPUs, from cuda:0 on"),
                ("cuda", "", "torch 0.0.stub sees no GPU here"),
                ("cud", "0,1", "Expected one of cpu, cuda, mps device type"),
                ("mps", "0,1", 'the host knows "cuda", "cuda:N" and "cpu"')):
            with self.subTest(device):
                done = judged(f"right,device={device}", CUDA_VISIBLE_DEVICES=gpus)
                self.assertEqual(done.code, 2, done.out + done.err)
                self.assertIn(words, done.err)

    def test_times_are_the_device_s(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "receipt.json")
            done = judged("slow", more=["--receipt", path, "--draws", "0"])
            self.assertEqual(done.code, 0, done.out + done.err)
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertIn("Stub GPU 0", text)

    def test_gate_compares_two_by_the_device_s_clock(self):
        done = program.run("gate", "py:device_kernels.py:right", "py:device_kernels.py:second",
                           EQUAL, "--budget", "0.2s", "--profile", "from-candidate", cwd=HERE)
        self.assertIn("times of the baseline: device clock", done.out, done.err)
        self.assertIn("times of the candidate: device clock", done.out)


if __name__ == "__main__":
    unittest.main()
