#!/usr/bin/env python3
"""One key of 8192, through every door: files, a shared object and a process find the
same."""

import os
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import kernel_builds  # noqa: E402
from files_test import SMALL, CallsTest  # noqa: E402
from program import events, run  # noqa: E402

# A key of 8192 is smaller than a rounding of its neighbours.
LONG = "attention_forward hq=2 sq=4 skv=8192 d=16 lane=bf16 mask=causal align=br"


class DoorsTest(CallsTest):
    def test_files_and_a_process_find_the_same(self):
        cases = self.path("a.cases", SMALL + "\n" + LONG + "\n" + SMALL + " lane=f16\n")
        profile = self.path("p", "base = flash-bf16\nname = p\nlane = any\n")
        for bug, code in (("", 0), ("drop_key", 1)):
            found = []
            shutil.rmtree(self.path("calls"), ignore_errors=True)
            folder = self.exported("--cases", cases, profile=profile)
            self.answer(folder, bug)
            host = f"cmd:python3 '{HERE}/numpy_host.py' {bug}"
            for candidate in ("files:" + folder, host):
                done = run("verify", "--cases", cases, "--candidate", candidate,
                           "--profile", profile, "--json", "-")
                self.assertEqual(done.code, code, done.out + done.err)
                found.append([(e["case"], e["tier"], e["check"], e["message"])
                              for e in events(done.out) if e["kind"] == "finding"])
            self.assertEqual(found[0], found[1])
            self.assertEqual(bool(found[0]), code == 1)

    def test_three_doors_find_the_same(self):
        line = LONG.replace("lane=bf16 ", "")
        text = kernel_builds.example("attention.c")
        dropped = text.replace(
            "weights[j] = expf(weights[j] - highest);",
            "weights[j] = j + 1 == call->skv ? 0 : expf(weights[j] - highest);")
        self.assertNotEqual(text, dropped)
        for bug, code, source in (("", 0, text), ("drop_key", 1, dropped)):
            shutil.rmtree(self.path("calls"), ignore_errors=True)
            folder = self.exported(line)
            self.answer(folder, bug)
            shared = kernel_builds.build(self.folder, "attention.c", text=source,
                                   name="attention" + bug)
            found = []
            for candidate in ("files:" + folder, "so:" + shared,
                              f"cmd:python3 '{HERE}/numpy_host.py' {bug}"):
                done = run("verify", line, "--candidate", candidate, "--profile",
                           "cpu-f32", "--json", "-")
                self.assertEqual(done.code, code, done.out + done.err)
                found.append([(e["verdict"], e["case"], e["tier"], e["check"])
                              for e in events(done.out) if e["kind"] == "finding"])
            self.assertEqual(found[0], found[1])
            self.assertEqual(found[0], found[2])
            self.assertEqual(bool(found[0]), code == 1)


if __name__ == "__main__":
    unittest.main()
