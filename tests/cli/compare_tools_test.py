#!/usr/bin/env python3
"""Google Benchmark's own compare.py on files of `lockstep bench --json`. Skipped with
a word where it, or what it imports, is not installed (Debian: libbenchmark-tools,
python3-scipy). What it needs of a file is tested in any case (bench_test.py)."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import unittest

import program
from program import run

COMPARE = os.environ.get("LOCKSTEP_COMPARE", "/usr/share/benchmark/compare.py")
HOST = os.path.join(os.path.abspath(program.SOURCE), "tests/host/clock_host.py")
CASE = "attention_forward hq=2 hkv=1 sq=5 skv=9 d=4 cap=30 mask=causal align=br seed=3"
WRONG = "mutant:attn.cap_ignored"


class Compare(program.TestCase):

    def result(self, name, seconds):
        """A file of one row, of a kernel that says itself how long it took."""
        done = run("bench", CASE, "--candidate", f"cmd:python3 -B {HOST} {seconds}",
                   "--profile", "from-candidate", "--budget", "0.05s", "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        # One name for both, as a kernel has before and after a change.
        return self.path(name, done.out.replace(f" {seconds}", ""))

    def compare(self, *arguments):
        done = subprocess.run([sys.executable, COMPARE, "--no-color", *arguments],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_times_of_two_files(self):
        before, after = self.result("before.json", "2e-5"), self.result("after.json", "3e-5")
        said = self.compare("benchmarks", before, after)
        with open(before, encoding="utf-8") as file:
            name = json.load(file)["benchmarks"][0]["run_name"]
        rows = [line for line in said.splitlines() if line.startswith(name)]
        # Each sample and each aggregate, by names of its own.
        changes = [re.split(r"\s{2,}", row[len(name):].strip()) for row in rows]
        self.assertGreaterEqual(len(rows), 5 + 3)
        median, = [row for row in rows if row.startswith(name + "_median")]
        self.assertIn("+0.5000", median)
        self.assertTrue(any("+0.5000" in change for change in changes[0]), rows[0])
        # Its test of all samples found both files' repetitions.
        self.assertRegex(said, re.escape(name) + r"_pvalue +0\.0")

    def test_two_rows_of_one_file(self):
        path = self.result("rows.json", "2e-5")
        said = self.compare("filters", path, "sq=5", "sq=5")
        self.assertIn("_median", said)

    def test_a_row_without_times_is_no_obstacle(self):
        done = run("bench", CASE, "--candidate", WRONG, "--candidate",
                   "builtin:optimized,threads=1", "--budget", "0.01s", "--json", "-")
        self.assertEqual(done.code, 1, done.err)
        path = self.path("mixed.json", done.out)
        self.assertIn("builtin:optimized", self.compare("benchmarks", path, path))


if __name__ == "__main__":
    missing = [] if os.path.exists(COMPARE) else [COMPARE]
    missing += [name for name in ("numpy", "scipy")
                if importlib.util.find_spec(name) is None]
    if missing:
        print("skipped: there is no", " and no ".join(missing))
        sys.exit(77)
    unittest.main()
