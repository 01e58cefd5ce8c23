#!/usr/bin/env python3
"""What the machine does not give (threads, memory, sizes of files) ends a run with a
line, exit 2 and all evidence, never by a signal."""

import json
import os
import subprocess
import unittest

import program
from limits_test import sanitized
from program import SMALL
from robust_test import shell


class UlimitTest(program.TestCase):
    def assertRefused(self, done, *words):
        self.assertUsage(program.Finished(done.returncode, done.stdout, done.stderr, 0),
                         *words)

    @sanitized
    def test_threads_that_cannot_start(self):
        case = "attention_forward hq=8 sq=64 skv=64 d=16"
        for command in (f"ulimit -v 200000; $L verify '{case}' --threads 64",
                        f"ulimit -v 400000; $L verify '{case}' --threads 64",
                        f"ulimit -v 50000; $L verify '{case}' --threads 4",
                        f"KMP_STACKSIZE=100G $L verify '{case}' --threads 2",
                        f"OMP_STACKSIZE=100G $L verify '{case}' --threads 2",
                        "OMP_STACKSIZE=100G $L fuzz --candidate "
                        "builtin:optimized,threads=4 --budget 3cases",
                        f"ulimit -v 200000; OMP_NUM_THREADS=64 $L verify '{case}'"):
            done = shell(command, self.folder)
            self.assertEqual(done.returncode, 2, command + done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertRegex(done.stderr, "threads .*can(not)? run here")
        # Under a limit threads share one heap: stacks are what they take.
        for command in (f"OMP_STACKSIZE=8M $L verify '{case}' --threads 4",
                        f"ulimit -v 1000000; $L verify '{case}' --threads 64"):
            done = shell(command, self.folder)
            self.assertEqual(done.returncode, 0, command + done.stderr)

    @sanitized
    def test_threads_of_cases_side_by_side(self):
        cases = " ".join(f"'attention_forward hq=4 sq=40 skv=40 d=16 seed={n}'"
                         for n in range(4))
        for limit in (700000, 900000):
            done = shell(f"ulimit -v {limit}; $L verify {cases} --threads 64 --jobs 4",
                         self.folder)
            self.assertRefused(done, "4 cases side by side", "64 threads", "--jobs")
        done = shell(f"ulimit -v 700000; $L verify {cases} --threads 4 --jobs 4",
                     self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    @sanitized
    def test_a_small_stack_is_refused(self):
        for verb in ("verify 'mamba3_scan_backward h=2 t=24 n=8 p=4 s=2'",
                     "fuzz attention_backward --budget 3cases", "list ops"):
            done = shell(f"ulimit -s 64; $L {verb}", self.folder)
            self.assertRefused(done, "limit of the stack is 64 KiB", "ulimit -s")
        done = shell(f"ulimit -s 1024; $L verify '{SMALL}'", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    @sanitized
    def test_users_with_few_processes(self):
        # No limit of root's; another user's, who has none yet, and can start us. Each
        # run has a user of its own: what an earlier run left may still be ending.
        def free(most):
            user = 60000 + (os.getpid() * 8 + most) % 5000
            return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        able = os.geteuid() == 0 and subprocess.run(
            [*free(0), os.path.abspath(program.PROGRAM), "--version"],
            capture_output=True, check=False).returncode == 0
        if not able:
            self.skipTest("needs root, and a program that others may start")
        for most in range(1, 7):
            done = subprocess.run(
                [*free(most), "bash", "-c", f"ulimit -u {most}; exec \"$@\"", "_",
                 os.path.abspath(program.PROGRAM), "verify", SMALL, "--threads", "4"],
                capture_output=True, text=True, cwd="/", check=False)
            self.assertEqual(done.returncode, 2 if most <= 4 else 0, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1 if most <= 4 else 0, done.stderr)

    @sanitized
    def test_memory_that_is_not_there(self):
        case = "block_plan sq=8192 skv=8192 bq=8 bk=8 mask=causal"
        done = shell(f"ulimit -v 200000; $L verify '{SMALL}' '{case}' --threads 1 "
                     "--receipt r.json --json e.ndjson", self.folder)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("out of memory", done.stderr)
        with open(self.path("r.json"), encoding="utf-8") as file:
            outcome = json.load(file)["outcome"]
        self.assertEqual((outcome["pass"], outcome["not_run"]), (1, 1))
        with open(self.path("e.ndjson"), encoding="utf-8") as file:
            self.assertEqual(program.summary(file.read())["exit"], 2)

    @sanitized
    def test_addresses_for_a_candidate_are_named(self):
        kernel = self.path("kernel.so", "")
        done = shell(f"ulimit -v 500000; $L verify '{SMALL}' --candidate so:{kernel} "
                     "--profile cpu-f32 --candidate-memory 1G", self.folder)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("smaller --candidate-memory", done.stderr)

    def test_files_that_may_not_grow(self):
        # Blocks of 1 KiB: the events of a case are several.
        done = shell(f"ulimit -f 1; $L verify '{SMALL}' --json e.ndjson --junit j.xml",
                     self.folder)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "lockstep: e.ndjson: cannot be written: "
                         "File too large\n")
        # What fits is there, and nothing half written.
        self.assertEqual(os.listdir(self.folder), ["j.xml"])


if __name__ == "__main__":
    unittest.main()
