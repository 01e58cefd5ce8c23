#!/usr/bin/env python3
"""`lockstep gate`: what it decides of two kernels, or of two files of `lockstep bench`."""

import json
import unittest

import program
from bench_test import CASE, HOST, KERNEL, SCAN, SHAPES, bench
from program import run


class Gate(program.TestCase):

    def gate(self, *arguments):
        done = run("gate", *arguments, "--json", "-")
        result = json.loads(done.out) if done.out else None
        if result:
            self.assertEqual(done.code, result["exit"])
        return done.code, result

    def test_a_wrong_kernel_is_deleted_whatever_its_speed(self):
        code, result = self.gate(KERNEL, "mutant:attn.cap_ignored", CASE)
        self.assertEqual((code, result["decision"]), (1, "delete"))
        self.assertEqual(result["shapes"][0]["verdict"], "fail")
        self.assertFalse(result["shapes"][0]["compared"])

    def host(self, seconds):
        """A kernel that says itself how long it took."""
        return f"cmd:python3 -B {HOST} {seconds}"

    def compare(self, before, after, *cases):
        return self.gate(self.host(before), self.host(after), *cases, "--profile",
                         "from-candidate", "--budget", "0.1s")

    def test_a_slower_kernel_and_an_equal_one_are_deleted(self):
        code, result = self.compare(1e-5, 2e-5, SHAPES[0])
        self.assertEqual((code, result["decision"]), (1, "delete"))
        shape = result["shapes"][0]
        self.assertEqual((shape["verdict"], shape["claim"]), ("pass", "slower"))
        self.assertAlmostEqual(shape["change"], 1)
        self.assertGreaterEqual(shape["pairs"], 20)
        code, result = self.compare(1e-5, 1.01e-5, SHAPES[0])
        self.assertEqual((code, result["decision"]), (1, "delete"))
        self.assertEqual(result["shapes"][0]["claim"], "tie")

    def test_a_win_on_many_shapes_is_a_promotion(self):
        code, result = self.compare(1e-5, 0.9e-5, *SHAPES)
        self.assertEqual((code, result["decision"]), (0, "promote"))
        self.assertEqual(result["facts"]["wins"], 2)
        self.assertAlmostEqual(result["facts"]["gain"], 0.1)
        code, result = self.compare(1e-5, 0.9e-5, SHAPES[0])
        self.assertEqual((code, result["decision"]), (4, "experimental"))
        self.assertIn("narrow", result["reason"])

    def test_the_first_calls_of_both_are_told(self):
        done = run("gate", self.host(1e-5), self.host(2e-5), SHAPES[0], "--profile",
                   "from-candidate", "--budget", "0.1s")
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("first     10 us -> 20 us, of the first call", done.out)

    def test_a_slower_kernel_that_tells_a_false_time_is_not_promoted(self):
        for told, words in (("1e-12", "GFLOP/s where this machine does"),
                            ("0", "it took no time in a call of")):
            with self.subTest(told):
                code, result = self.compare("1e-5", f"{told} kernel --slow", *SHAPES)
                self.assertEqual((code, result["decision"]), (5, "undecided"))
                self.assertIn("was not timed", result["reason"])
                for shape in result["shapes"]:
                    self.assertFalse(shape["compared"])
                    self.assertEqual(shape["verdict"], "pass")
                    self.assertIn(words, shape["reason"])
        # 1 % of what it takes: this is not impossible, and it does not count.
        code, result = self.compare("1e-3", "5e-5 kernel --slow", *SHAPES)
        self.assertNotEqual(code, 0)
        for shape in result["shapes"]:
            self.assertNotEqual(shape["claim"], "faster")
            self.assertEqual(shape["told_times"]["candidate"], "told, not used")
            self.assertGreater(shape["candidate_seconds"], 5e-3)

    def test_a_baseline_that_breaks_between_turns_is_not_the_candidates_fault(self):
        broken = self.host("1e-5 device --dies 12")
        done = run("gate", broken, self.host(1e-5), SHAPES[0], "--profile",
                   "from-candidate", "--budget", "0.1s")
        self.assertUsage(done, "the baseline broke while it was timed on", "--dies 12")
        code, result = self.gate(self.host(1e-5), broken, SHAPES[0], "--profile",
                                 "from-candidate", "--budget", "0.1s")
        self.assertEqual((code, result["decision"]), (1, "delete"))
        self.assertIn("it broke", result["reason"])

    def test_a_teams_own_table(self):
        rules = run("gate", "--print-rules").out
        self.assertTrue(rules.startswith("lockstep-gate 1\n"))
        path = self.path("rules", rules)
        code, _ = self.gate(KERNEL, "mutant:attn.cap_ignored", CASE, "--rules", path)
        self.assertEqual(code, 1)
        path = self.path("ours", "lockstep-gate 1\nkeep-out otherwise: we say so\n")
        code, result = self.gate(KERNEL, "mutant:attn.cap_ignored", CASE, "--rules", path)
        self.assertEqual((code, result["reason"]), (4, "we say so"))

    def test_files(self):
        for name, spec in (("slow", "builtin:reference"), ("fast", KERNEL)):
            self.path(name + ".json", json.dumps(bench(
                *(CASE.replace("40", size) for size in ("64", "96")), "--candidate", spec)))
        slow, fast = self.path("slow.json"), self.path("fast.json")
        result = self.gate(slow, fast)[1]
        self.assertFalse(result["paired"])
        self.assertEqual(len(result["shapes"]), 2)
        self.assertNotEqual(self.gate(slow, slow)[1]["decision"], "promote")
        both = self.path("both.json", json.dumps(bench(
            CASE, "--candidate", KERNEL, "--candidate", "builtin:reference")))
        self.assertUsage(run("gate", both, fast), "two candidates")
        other = self.path("other.json", json.dumps(bench(SCAN)))
        self.assertUsage(run("gate", slow, other), "share no case")
        self.assertUsage(run("gate", slow, self.path("x.json", "{}")), "no result")
        self.assertUsage(run("gate", slow, fast, CASE), "have their cases")

    def test_refusals(self):
        self.assertUsage(run("gate"), "BASELINE and CANDIDATE")
        self.assertUsage(run("gate", KERNEL), "BASELINE and CANDIDATE")
        self.assertUsage(run("gate", KERNEL, KERNEL), "no cases")
        self.assertUsage(run("gate", KERNEL, "x.json"), "do not match")
        self.assertUsage(run("gate", KERNEL, "cmd:false", CASE), "--profile")
        bad = self.path("rules", "lockstep-gate 1\ndelete when win == 0: x\n")
        self.assertUsage(run("gate", KERNEL, KERNEL, CASE, "--rules", bad),
                         "nearest is 'wins'")


if __name__ == "__main__":
    unittest.main()
