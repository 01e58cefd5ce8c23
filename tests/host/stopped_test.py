#!/usr/bin/env python3
"""Time in which judge and host were stopped together is no time of the kernel's. The
limit is so long that a busy machine starts the host within it: a test for the night."""

import os
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import program  # noqa: E402
from wire_test import SMALL, host  # noqa: E402


class StoppedTest(program.TestCase):

    def test_time_in_which_the_judge_stood_still_does_not_count(self):
        limit = 60
        begun, go = self.path("begun"), self.path("go")
        child = subprocess.Popen(
            [os.path.abspath(program.PROGRAM), "verify", SMALL, "--candidate",
             host("wait_host", begun, go), "--profile", "from-candidate",
             "--call-timeout", str(limit)],
            cwd=program.SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        while not os.path.exists(begun):
            time.sleep(0.01)
        with open(begun, encoding="utf-8") as file:
            both = [child.pid, int(file.read())]
        for process in both:
            os.kill(process, signal.SIGSTOP)
        time.sleep(limit + 1)
        for process in both:
            os.kill(process, signal.SIGCONT)
        # Time in which whoever counts all of it finds out.
        time.sleep(2)
        self.path("go", "")
        out, _ = child.communicate()
        self.assertEqual(child.returncode, 0, out.decode())


if __name__ == "__main__":
    unittest.main()
