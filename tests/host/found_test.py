#!/usr/bin/env python3
"""lockstep fuzz finds bugs that only some served calls show, within a number of cases, and tells
what a kernel makes of NaN apart from its bugs."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
os.environ["PYTHONPATH"] = os.path.join(HERE, "..", "..", "python")

import program  # noqa: E402
from program import events, run, summary  # noqa: E402


def fuzz(op, kernel, budget, *more, seed=0):
    return run("fuzz", op, "--candidate", f"py:tests/host/found_kernels.py:{kernel}", "--profile",
               "from-candidate", "--budget", f"{budget}cases", "--seed", str(seed), "--shrink",
               "0", "--plans", "1", "--json", "-", *more)


class FoundTest(program.TestCase):
    def found(self, op, kernel, within, *parts):
        done = fuzz(op, kernel, within)
        self.assertEqual(done.code, 1, done.out + done.err)
        line = [e for e in events(done.out) if e["kind"] == "finding"][0]["found"]
        for part in parts:
            self.assertIn(part, line)

    def test_a_window_of_decoding(self):
        self.found("attention_forward", "decode_window_bug", 1000, " sq=1 ", "window:")

    def test_a_window_that_is_refused_alone(self):
        self.found("attention_forward", "beside_bug", 1000, "causal", "window:")

    def test_pages_with_memory_between_them(self):
        self.found("attention_forward", "pages_bug", 1000, " page=", "strides=k:")

    def test_narrow_values_of_wide_keys(self):
        self.found("attention_backward", "columns_bug", 1000, " d=128 dv=96 ")

    def test_f16(self):
        self.found("attention_forward", "half_bug", 1000, " lane=f16 ")

    def test_right_kernels_are_not_found(self):
        for op, kernel in (("attention_forward", "plain"), ("attention_forward", "beside"),
                           ("attention_forward", "half"), ("attention_forward", "pages"),
                           ("attention_backward", "columns")):
            done = fuzz(op, kernel, 100)
            self.assertIn(done.code, (0, 5), done.out + done.err)
            self.assertEqual(summary(done.out)["findings"], 0)

    # A lane is a claim like any other; what was skipped meets nothing.
    def test_what_is_claimed_has_to_be_judged(self):
        done = fuzz("attention_forward", "plain", 6)
        last = summary(done.out)
        self.assertEqual(done.code, 5, done.out + done.err)
        self.assertTrue(last["claims_unproved"])
        self.assertIn("claims    never judged: ", done.err)
        done = fuzz("attention_forward", "plain", 6, "--where", "sq=3")
        self.assertEqual(done.code, 0, done.out + done.err)

    # The file of the kernel that is asked for may hold another with a slip.
    def test_a_wrong_claim_is_told_with_its_line(self):
        path = self.path("slip.py", "import lockstep\n\n\n@lockstep.kernel(features=['softcp'])"
                         "\ndef other(q, k, v):\n    pass\n\n\ndef mine(q, k, v):\n    pass\n")
        done = run("fuzz", "--candidate", f"py:{path}:mine", "--profile", "cpu-f32")
        self.assertUsage(done, "slip.py:4: feature 'softcp' is unknown")

    # A field states what the kernel makes of NaN: it is told once and ends nothing.
    def test_nan_is_told_once(self):
        done = fuzz("attention_forward", "strict", 500)
        told = [e for e in events(done.out) if e["kind"] == "convention"]
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertEqual(summary(done.out)["findings"], 0, done.err)
        self.assertEqual(len(told), len({e["convention"] for e in told}))
        self.assertIn("` of a profile states this", told[0]["convention"])
        self.assertIn("special:", told[0]["found"])

    def test_nan_hides_no_bug(self):
        done = fuzz("attention_forward", "strict_bug", 1000)
        found = [e for e in events(done.out) if e["kind"] == "finding"]
        self.assertEqual(len(found), 1, done.out + done.err)
        self.assertIn("window:", found[0]["found"])

    def test_no_field_states_nan_between_runs(self):
        done = fuzz("ssd_scan", "matrix", 250, "--where", "carry=no b=1")
        told = [e for e in events(done.out) if e["kind"] == "convention"]
        self.assertEqual((done.code, len(told)), (1, 1), done.out + done.err)
        self.assertEqual(summary(done.out)["findings"], 0)
        self.assertIn("no field of a profile states this", told[0]["convention"])


if __name__ == "__main__":
    unittest.main()
