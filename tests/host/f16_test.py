#!/usr/bin/env python3
"""A kernel in f16 that subtracts no maximum below a softcap of 60, as tokamax's does:
its weights overflow, and both case files of f16 show it."""

import os
import unittest

import encoding_kernels
from program import run

RIGHT = "py:python/examples/numpy_f16.py:attend"
CAPPED = "py:python/examples/numpy_f16.py:capped"
# A softcap below e^11.09 keeps its weights in f16.
SMALL = ("attention_forward hq=2 sq=16 skv=40 d=16 lane=f16 cap=10 fill=spread:12",
         "attention_forward hq=4 hkv=2 sq=33 skv=65 d=32 lane=f16 mask=causal align=br",
         "attention_forward sq=9 skv=40 d=16 lane=f16 cap=61 fill=spread:40")
CASES = os.path.join(encoding_kernels.HERE, "..", "..", "data", "cases")


def overflowing(name):
    """The lines of a case file whose cap lies between e^11.09 and 60, with large scores."""
    with open(os.path.join(CASES, name), encoding="utf-8") as file:
        return [line.strip() for line in file if " cap=60 fill=spread:40" in line]


class F16Test(encoding_kernels.TestCase):
    def lines(self):
        return [line for name in ("f16.cases", "foreign-attention-f16.cases")
                for line in overflowing(name)]

    def test_both_files_have_a_case(self):
        self.assertEqual(len(self.lines()), 2)

    def test_a_right_kernel_passes(self):
        self.passes(RIGHT, *SMALL, *self.lines())

    def test_weights_without_a_maximum_overflow(self):
        self.passes(CAPPED, *SMALL)
        self.check("fail", CAPPED, *self.lines())

    def test_the_known_bug_overflows_alike(self):
        for line in self.lines():
            done = run("verify", line, "--candidate", "mutant:attn.f16_no_max")
            self.assertEqual(done.code, 1, done.out)

    def test_a_profile_that_says_so_bounds_nothing(self):
        profile = self.path("p", "base = flash-f16\nname = p\nmax = none\n")
        done = run("verify", self.lines()[0], "--candidate", CAPPED, "--profile", profile)
        self.assertIn("bounds nothing", done.out)


if __name__ == "__main__":
    unittest.main()
