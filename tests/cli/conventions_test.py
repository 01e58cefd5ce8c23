#!/usr/bin/env python3
"""Conventions: each has case files that a correct kernel passes, and where a
kernel has another one than its profile says, the report names the field."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import program  # noqa: E402
from program import events, run  # noqa: E402

FOLDER = "data/cases"
# Case file, profile of a correct kernel without the contract's bits.
RIGHT = {"empty-rows": "", "nan": "", "sinks": "", "lse-base": "", "no-lse": "lse = none\n"}
# A kernel, the case file that shows it, the field that would cover it, and what that
# field leaves unjudged: of such the report says where the kernel is wrong.
PLANTED = [
    ("attn.lse_log2", "lse-base", "lse_base = 2", ""),
    ("attn.lse_plus_inf", "empty-rows", "empty_row = zero_posinf", ""),
    ("attn.empty_row_mean", "empty-rows", "empty_row = unspecified", "rows that see no key"),
    ("attn.empty_row_nan", "empty-rows", "empty_row = unspecified", "rows that see no key"),
    ("attn.nan_swallowed", "nan", "nan = unspecified",
     "elements that NaN or infinity of the inputs reaches"),
]
# Wrong whatever is said.
WRONG = [("attn.sink_dropped", "sinks"), ("attn.causal_plus_one", "no-lse")]


class ConventionsTest(program.TestCase):
    def profile(self, more, name="kernel"):
        return self.path(name, f"base = cpu-f32\nname = {name}\n{more}")

    def judged(self, mutant, part, profile):
        done = run("verify", "--cases", f"{FOLDER}/conventions-{part}.cases",
                   "--candidate", "mutant:" + mutant, "--profile", profile, "--json", "-")
        return done, [e for e in events(done.out) if e["kind"] == "case"]

    def test_correct_kernels_pass(self):
        for part, more in RIGHT.items():
            with self.subTest(part):
                done = run("verify", "--cases", f"{FOLDER}/conventions-{part}.cases",
                           "--candidate", "variant:cpu", "--profile", self.profile(more))
                self.assertEqual(done.code, 0, done.out + done.err)
                self.assertNotIn("untrusted", done.out)
                self.assertNotIn("skipped", done.out)

    def test_every_file_is_listed_here(self):
        there = {name[len("conventions-"):-len(".cases")]
                 for name in os.listdir(os.path.join(program.SOURCE, FOLDER))
                 if name.startswith("conventions-")}
        self.assertEqual(there, set(RIGHT))

    def test_the_report_names_the_field(self):
        for mutant, part, field, where in PLANTED:
            with self.subTest(mutant):
                done, cases = self.judged(mutant, part, "cpu-f32")
                self.assertEqual(done.code, 1, done.out + done.err)
                failed = [c for c in cases if c["verdict"] == "fail"]
                self.assertEqual({c["one_field"]["field"] for c in failed}, {field})
                self.assertIn(
                    f"profile: wrong in {where} alone: without them (`{field}`) the case "
                    "passes" if where else
                    f"profile: passes with `{field}`: say so if it is", done.err)
                # And it is true.
                done, cases = self.judged(mutant, part, self.profile(field + "\n"))
                self.assertEqual(done.code, 0, done.err)

    def test_no_field_covers_a_wrong_kernel(self):
        for mutant, part in WRONG:
            with self.subTest(mutant):
                done, cases = self.judged(mutant, part, "cpu-f32")
                self.assertEqual(done.code, 1, done.out + done.err)
                for case in cases:
                    self.assertEqual(case["one_field"], {}, case)
                self.assertNotIn("profile:", done.err)

    def test_nobody_is_told_to_declare_an_output_away(self):
        case = "attention_forward hq=2 sq=9 skv=20 d=16 mask=causal seed=1"
        for mutant in ("attn.lse_of_tile_edge", "attn.lse_head_zero"):
            with self.subTest(mutant):
                done = run("verify", case, "--candidate", "mutant:" + mutant, "--profile",
                           "cpu-f32")
                self.assertEqual(done.code, 1, done.out + done.err)
                self.assertNotIn("profile:", done.out)
        done = run("verify", case, "--candidate", "variant:cpu", "--profile",
                   self.profile("lse = bf16\n"))
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("profile: passes with `lse = f32`", done.out)

    def test_rows_that_are_open_are_no_slack(self):
        done = run("verify", "attention_forward hq=2 sq=20 skv=2 d=16 mask=causal align=br",
                   "--candidate", "variant:cpu", "--profile",
                   self.profile("empty_row = unspecified\n"))
        self.assertEqual(done.code, 5, done.out + done.err)
        self.assertIn("the profile leaves 36 of 40 rows open (they see no key", done.out)
        self.assertNotIn("the slack is", done.out)

    def test_rows_without_an_answer_may_be_half(self):
        scan = "mamba3_scan t=20 n=4 p=4 cu=0,0,10,10,20"
        done = run("verify", scan, "--candidate", "variant:scan-empty-runs")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn(" unbounded;", done.out)
        done = run("verify", scan.replace("0,0,10,10,20", "0,0,10,10,10,20,20"),
                   "--candidate", "variant:scan-empty-runs")
        self.assertEqual(done.code, 5, done.out + done.err)
        attention = "attention_forward hq=2 sq=20 skv=10 d=16 mask=causal align=br"
        done = run("verify", attention, "--candidate", "variant:cpu", "--profile",
                   self.profile("empty_row = unspecified\n"))
        self.assertEqual(done.code, 0, done.out + done.err)

    def test_a_field_that_leaves_the_case_open(self):
        case = ("attention_forward hq=2 hkv=1 sq=9 skv=20 d=16 mask=causal "
                "fill=normal:1+poison:masked seed=1")
        done = run("verify", case, "--candidate", "mutant:attn.mask_multiplies_p",
                   "--profile", "cpu-f32")
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("profile: perhaps wrong in rows beside NaN in keys that they do not "
                      "see alone: without them (`masked_nan_safe = no`) the case is skipped",
                      done.out)

    def test_nothing_is_said_of_exact_claims(self):
        done = run("verify", "attention_forward sq=9 skv=20 d=16", "--candidate",
                   "mutant:attn.lse_log2", "--profile", "exact-f32")
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertNotIn("profile:", done.out)

    def test_a_kernel_without_lse_that_does_not_say_so(self):
        case = "attention_forward hq=2 hkv=1 sq=9 skv=20 d=16 mask=causal align=br"
        folder, tensors = self.export(case)
        count = len(tensors["lse"][2])
        self.write_outputs(folder, {"o": tensors["o"], "lse": (
            "F32", tensors["lse"][1], b"\x00\x00\xc0\x7f" * (count // 4))})
        done = run("verify", case, "--candidate", "files:" + folder, "--profile",
                   "cpu-f32")
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("(lse)", done.out)


class ScanTest(program.TestCase):
    def test_other_pairs_of_coordinates(self):
        case = "mamba3_scan t=20 h=2 n=16 p=8 s=4"
        done = run("verify", case, "--candidate", "mutant:scan.wrong_pairing",
                   "--profile", "scan-f32")
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("profile: passes with `scan.pairing = halves`", done.out)


if __name__ == "__main__":
    unittest.main()
