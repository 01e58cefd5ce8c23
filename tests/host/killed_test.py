#!/usr/bin/env python3
"""Nothing that a kernel has started outlives the judge, however the judge ends."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import program  # noqa: E402
from wire_test import SMALL, host  # noqa: E402

MODES = ("child", "session", "orphan", "deaf")


def state(process):
    """A letter of /proc; None: there is no such process, or it has ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            letter = file.read().rpartition(") ")[2][0]
    except OSError:
        return None
    return None if letter in "ZX" else letter


class KilledTest(program.TestCase):

    def start(self, mode, *more):
        """A judge inside a call, and the processes of its kernel."""
        there = os.path.join(tempfile.mkdtemp(dir=self.folder), "there")
        child = subprocess.Popen(
            [os.path.abspath(program.PROGRAM), "verify", SMALL, "--candidate",
             host("starting_host", mode, there), "--profile", "from-candidate", *more],
            cwd=program.SOURCE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, preexec_fn=lambda: (
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
                signal.signal(signal.SIGHUP, signal.SIG_DFL)))
        self.addCleanup(child.kill)
        while not os.path.exists(there):
            self.assertIsNone(child.poll())
            time.sleep(0.01)
        with open(there, encoding="utf-8") as file:
            processes = [int(word) for word in file.read().split()]
        self.assertEqual([p for p in processes if state(p) is None], [])
        return child, processes

    def test_signals_that_the_judge_sees(self):
        for number, modes in ((signal.SIGINT, ["orphan"]), (signal.SIGTERM, ["deaf"]),
                              (signal.SIGHUP, MODES)):
            for mode in modes:
                with self.subTest(f"{number.name} {mode}"):
                    receipt, junit = self.path("r.json"), self.path("j.xml")
                    child, processes = self.start(
                        mode, "--receipt", receipt, "--junit", junit)
                    child.send_signal(number)
                    self.assertEqual(child.wait(), 130)
                    self.assertEqual([p for p in processes if state(p)], [])
                    with open(receipt, encoding="utf-8") as file:
                        self.assertTrue(json.load(file)["outcome"]["interrupted"])
                    with open(junit, encoding="utf-8") as file:
                        self.assertNotIn("unfinished", file.read())
                    os.remove(receipt)

    def test_signals_that_it_does_not_see(self):
        for number, modes in ((signal.SIGKILL, MODES), (signal.SIGQUIT, ["orphan"])):
            for mode in modes:
                with self.subTest(f"{number.name} {mode}"):
                    child, processes = self.start(mode)
                    child.send_signal(number)
                    self.assertEqual(child.wait(), -number)
                    # Their keeper ends them, as soon as it gets the processor.
                    while any(state(p) for p in processes):
                        time.sleep(0.01)

    def test_the_second_ctrl_c(self):
        child, processes = self.start("orphan")
        while child.poll() is None:
            child.send_signal(signal.SIGINT)
            time.sleep(0.01)
        while any(state(p) for p in processes):
            time.sleep(0.01)

    def test_under_nohup_a_hangup_is_none(self):
        done = subprocess.run(
            ["bash", "-c", "trap '' HUP; \"$@\" & kill -HUP $!; wait $!", "_",
             os.path.abspath(program.PROGRAM), "verify", SMALL],
            cwd=program.SOURCE, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
