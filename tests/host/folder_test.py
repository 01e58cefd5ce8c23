#!/usr/bin/env python3
"""Kernels that are started for every call, with a folder: cmd-files:."""

import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import leftovers  # noqa: E402
import program  # noqa: E402
from program import run, summary  # noqa: E402

# One call each is enough where only its end is looked at.
CASE = "attention_forward hq=2 hkv=1 sq=3 skv=7 d=4 cap=30 mask=causal align=br seed=3"
CASES = """
attention_forward hq=2 hkv=1 sq=3 skv=7 d=4 cap=30 mask=causal align=br seed=3
attention_forward b=2 sq=3 skv=4 d=4 mask=random:0.5 valid_q=3,2 valid_kv=4,2 seed=7
"""
PROFILE = "base = cpu-f32\nname = numpy\nnan = unspecified\n"

# Mode of folder_kernel.py: exit code, and words of the sentence.
MODES = {
    "exit_7": (3, "its last line: 'no device'"),
    "crash": (3, "crashed: SIGSEGV"),
    "hang": (3, "did not end the call within 1 s"),
    "flood": (3, "printed more than 1 MiB"),
    "orphan": (3, "left 1 processes behind"),
    "no_answer": (3, "ended with status 0, but gave no valid answer"),
    "torn": (3, "ended with status 0, but gave no valid answer"),
    "no_lse": (1, "expected F32 [1, 2, 3], produced nothing"),
    "shape": (1, "produced F32 [1, 1, 2, 3]"),
    "drop_key": (1, "replay: lockstep verify"),
    "unsupported": (77, "odd lengths"),
}


class FolderTest(program.TestCase):
    def judge(self, mode, *more):
        script = os.path.join(HERE, "folder_kernel.py")
        return run("verify", *more, "--candidate",
                   f"cmd-files:{sys.executable} '{script}' {mode}", "--profile",
                   self.path("numpy.profile", PROFILE),
                   *(["--call-timeout", "1"] if mode == "hang" else []))

    def test_a_right_one_passes(self):
        receipt = self.path("r.json")
        done = self.judge("right", "--cases", self.path("a.cases", CASES),
                          "--receipt", receipt, "--json", "-")
        self.assertEqual(done.code, 0, done.out[-2000:] + done.err)
        self.assertEqual(summary(done.out)["pass"], 2)
        with open(receipt, encoding="utf-8") as file:
            kernel = json.load(file)["cases"][0]["resolution"]["kernel"]
        self.assertEqual(kernel["guards"], "none")
        self.assertEqual(leftovers.files(), [])

    def test_sentences_and_codes(self):
        for mode, (code, words) in MODES.items():
            with self.subTest(mode):
                done = self.judge(mode, CASE)
                self.assertEqual(done.code, code, done.out[-2000:] + done.err)
                self.assertIn(words, done.out + done.err)
        self.assertEqual(leftovers.processes(), [])
        self.assertEqual(leftovers.files(), [])


if __name__ == "__main__":
    unittest.main()
