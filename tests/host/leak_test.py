#!/usr/bin/env python3
"""A hundred thousand calls on one host: judge and host keep neither descriptors nor
memory of calls that are over."""

import os
import re
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import kernel_builds  # noqa: E402
import leftovers  # noqa: E402
import program  # noqa: E402

CALLS = 100_000
# Cases differ in size: the largest one of the second half may be larger.
MOST_GROWTH_KIB = 16 << 10


def host_of(judge):
    """The process that it has started; 0: none yet."""
    try:
        with open(f"/proc/{judge}/task/{judge}/children", encoding="utf-8") as file:
            return int((file.read().split() or [0])[0])
    except OSError:
        return 0


def held_by(process):
    """(descriptors, resident KiB), or None where it has ended."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8") as file:
            resident = re.search(r"RssAnon:\s+(\d+) kB", file.read())
        return len(os.listdir(f"/proc/{process}/fd")), int(resident.group(1))
    except (OSError, AttributeError):
        return None


class LeakTest(program.TestCase):
    def test_many_calls(self):
        cases = self.path("a.cases", "\n".join(
            f"attention_forward hq=2 hkv=1 sq=5 skv=9 d=8 mask=causal seed={n}"
            for n in range(CALLS // 16)))
        kernel = kernel_builds.build(
            self.folder, os.path.join(kernel_builds.EXAMPLES, "attention.c"), "-O2")
        with open(self.path("out"), "wb") as out:
            judge = subprocess.Popen(
                [os.path.abspath(program.PROGRAM), "verify", "--cases", cases,
                 "--candidate", "so:" + kernel, "--profile", "from-candidate"],
                stdout=out, stderr=subprocess.STDOUT)
            samples = []
            while judge.poll() is None:
                held = held_by(judge.pid), held_by(host_of(judge.pid))
                if None not in held:
                    samples.append(held)
                time.sleep(0.1)
        with open(self.path("out"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(judge.returncode, 0, text[-2000:])
        runs = re.search(r"(\d+) runs of the candidate", text)
        self.assertGreaterEqual(int(runs.group(1)), CALLS)
        self.assertGreater(len(samples), 10)
        # What is usual is there after a tenth of the time.
        begin, end = samples[len(samples) // 10], samples[-1]
        print(f"judge {begin[0]} -> {end[0]}, host {begin[1]} -> {end[1]}")
        for first, last in zip(begin, end):
            self.assertLessEqual(last[0], first[0] + 1)
        # The judge keeps what it will report of each case: some KiB of text.
        self.assertLessEqual(end[1][1], begin[1][1] + MOST_GROWTH_KIB)
        self.assertEqual(leftovers.files(), [])
        self.assertEqual(leftovers.processes(), [])


if __name__ == "__main__":
    unittest.main()
