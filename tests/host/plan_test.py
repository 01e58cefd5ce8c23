#!/usr/bin/env python3
"""A planner behind the C interface: its tables are judged as ours are."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import kernel_builds  # noqa: E402
import program  # noqa: E402
from program import run, summary  # noqa: E402

CASES = """
block_plan sq=61 skv=64 bq=8 bk=8 mask=causal&window:20,0 dialect=block_mask
block_plan hq=2 sq=40 skv=40 bq=16 bk=8 mask=causal mask.h1=window:8,8 dialect=block_mask
block_plan sq=32 skv=48 bq=8 bk=16 mask=prefix:20 align=br dialect=block_mask
block_plan sq=24 skv=24 bq=8 bk=8 mask=causal q_seg=runs:10,14 kv_seg=runs:10,14 dialect=block_mask
"""
# What is in the kernel, and what a bug makes of it.
BUGS = {
    "something is taken for all": ("call->bq * call->bk ? 2 : 1", "0 ? 1 : 2"),
    "the last tile is left out": ("if (found == state)",
                                  "if (found == state && col + 1 < cols)"),
    "one tile too many": ("num[h * rows + row] = count;",
                          "num[h * rows + row] = count < cols ? count + 1 : count;"),
    "the passes have the same lists": ('"kv_num_blocks", "kv_indices", 1, 0',
                                       '"kv_num_blocks", "kv_indices", 1, 1'),
    "masks of head 0": ("visible(call->mask, h, i, j)", "visible(call->mask, h * 0, i, j)"),
    "beyond the room": ("return done ?", "call->tables[0].offset = call->room_bytes;\n  return done ?"),
    "a backend that is another": ("return done ?", 'snprintf(receipt->backend, 64, "another");\n  return done ?'),
    "seconds that were not": ("return done ?", "receipt->seconds = 1000;\n  return done ?"),
    "a type that is none": ('"i32"', '"f32"'),
}


class PlanTest(program.TestCase):
    def kernel(self, right="", wrong="", name="lists"):
        with open(os.path.join(HERE, "plan_kernel.c"), encoding="utf-8") as file:
            text = file.read()
        if right:
            self.assertEqual(text.count(right), 1, right)
        return kernel_builds.build(self.folder, "lists.c", "-Wno-unused-parameter",
                                   text=text.replace(right, wrong) if right else text,
                                   name=name)

    def judge(self, kernel, *more):
        return run("verify", "--cases", self.path("a.cases", CASES), "--candidate",
                   "so:" + kernel, "--profile", "exact-f32", *more)

    def test_right_tables_pass(self):
        kernel = self.kernel()
        done = self.judge(kernel)
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("4 cases: 4 pass", done.out)
        self.assertIn("executed  so (lists 0.3)", done.out)
        done = run("fuzz", "block_plan", "--candidate", "so:" + kernel, "--profile",
                   "exact-f32", "--budget", "60cases", "--json", "-")
        self.assertEqual(done.code, 0, done.out[-2000:] + done.err)

    def test_wrong_tables_fail(self):
        for number, (bug, (right, wrong)) in enumerate(BUGS.items()):
            with self.subTest(bug):
                kernel = self.kernel(right, wrong, name=f"bug{number}")
                done = self.judge(kernel)
                self.assertEqual(done.code, 1, done.out + done.err)
                self.assertIn(f"--candidate 'so:{kernel}'", done.out)

    def test_another_backend_is_told_and_may_be_refused(self):
        kernel = self.kernel(
            "return done ?",
            'snprintf(receipt->backend, 64, "plain");\n'
            '  snprintf(receipt->fallback_reason, 64, "no lists for 61 rows");\n'
            "  return done ?")
        done = self.judge(kernel)
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("executed  plain", done.out)
        done = self.judge(kernel, "--require-executed")
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("executed plain: no lists for 61 rows", done.out)

    def test_other_dialects_are_skipped(self):
        done = run("verify", CASES.split("\n")[1].replace("block_mask", "shrunk"),
                   "--candidate", "so:" + self.kernel(), "--profile", "exact-f32")
        self.assertEqual(done.code, 77, done.out + done.err)
        self.assertIn("no dialect shrunk", done.out)


if __name__ == "__main__":
    unittest.main()
