#!/usr/bin/env python3
"""The examples of candidates so:, built outside the tree by plain gcc and g++: their length,
what verbs do with them, and their bugs, for tests/record/."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import kernel_builds  # noqa: E402
import program  # noqa: E402
from program import run, summary  # noqa: E402

MOST_LINES = 120
SCAN = """
mamba3_scan t=9 h=2 n=8 p=4 s=2 seed=1
mamba3_scan b=2 t=7 h=4 g=2 n=8 p=2 s=4 seg=runs:3,4 carry=yes gate=yes seed=2
mamba3_scan t=12 h=2 n=8 p=4 s=3 cu=0,5,12 carry=yes bias=yes seed=3
mamba3_scan t=8 h=2 n=8 p=4 s=2 variant=mimo r=2 gate=yes reduce=yes norm=1e-5 seed=4
mamba3_scan t=6 h=2 n=8 p=4 variant=mimo r=3 carry=yes seed=5
mamba3_scan t=40 h=2 n=16 p=8 s=4 regime=long seed=6
mamba3_scan t=9 h=2 n=8 p=4 s=2 seg=runs:4,5 seed=7
"""

# What is in the example, and what a bug makes of it.
ATTENTION_BUGS = {
    "last key dropped": ("weights[j] = expf(weights[j] - highest);",
                         "weights[j] = j + 1 == call->skv && j ? 0 : expf(weights[j] - highest);"),
    "scale forgotten": ("score *= (float)call->scale;", ""),
    "cap forgotten": ("cap * tanhf(score / cap)", "score"),
    "cap twice": ("cap * tanhf(score / cap)",
                  "cap * tanhf(cap * tanhf(score / cap) / cap)"),
    "cap before scale": ("score *= (float)call->scale;\n    if (cap > 0) score = cap * tanhf(score / cap);",
                         "if (cap > 0) score = cap * tanhf(score / cap);\n    score *= (float)call->scale;"),
    "head of group 0": ("h / (call->hq / call->hkv)", "h * 0"),
    "sink left out of the sum": ("sink == -INFINITY ? 0 : expf(sink - highest)",
                                 "0"),
    "lse in base 2": ("highest + logf(sum)", "(highest + logf(sum)) * 1.442695f"),
    "empty rows are NaN": ("sum == 0 ? 0 : o / sum", "o / sum"),
    "mask of another row": ("if (*(uint8_t*)at(call->mask_dense, b, h, i, j) == 0) continue;\n    float score",
                            "if (*(uint8_t*)at(call->mask_dense, b, h, i ? i - 1 : 0, j) == 0) continue;\n    float score"),
}
SCAN_BUGS = {
    "no look-ahead term": ("beta = (1 - lambda) * dt * alpha;", "beta = 0;"),
    "beta without alpha": ("(1 - lambda) * dt * alpha", "(1 - lambda) * dt"),
    "angles not halved": ("* dt / 2;", "* dt;"),
    "turned the other way": ("angle = 2 *", "angle = -2 *"),
    "state of the run before": ("state = start;\n      const bool", "(void)0;\n      const bool"),
    "carry not read": ("if (first && c.carry_in)", "if (false && first)"),
    "carry of the first token": ("if (last)", "if (first)"),
    "pairs of the other variant": ("y[r][c.mimo ? s : 2 * s]", "y[r][c.mimo ? 2 * s : s]"),
    "group of head 0": ("head / (c.h / c.g)", "head * 0"),
    "skip forgotten": ("if (c.skip)", "if (false)"),
}


class JudgedTest(program.TestCase):
    def judge(self, shared_object, cases, *more):
        return run("verify", "--cases", self.path("a.cases", cases),
                   "--candidate", "so:" + shared_object, "--profile",
                   "from-candidate", *more)


class ExampleTest(JudgedTest):
    def test_they_are_short(self):
        for name in ("attention.c", "scan.cc"):
            lines = kernel_builds.example(name).splitlines()
            while lines[0].startswith("//"):
                del lines[0]
            lines = [line for line in lines if line.strip()]
            self.assertLessEqual(len(lines), MOST_LINES, name)


class LackTest(JudgedTest):
    """A scan without some of its carries, or without any."""

    SAYS = 'd->profile = "base = scan-f32\\nname = example-scan\\n'

    def lacking(self, names, told=True, bugs=()):
        """The example without those carries; `told`: its profile says so."""
        text = kernel_builds.example("scan.cc")
        edits = [('d->lanes = "f32";', f'd->lanes = "f32"; d->lacks = "{names}";'),
                 ("move(v[p], At(", "if (carry[3]) move(v[p], At("),
                 ("move(theta[s], At(", "if (carry[0]) move(theta[s], At("),
                 ("move(h[p][n], At(", "if (carry[1]) move(h[p][n], At("),
                 ("move(k[r][n], At(", "if (carry[2]) move(k[r][n], At(")]
        if told:
            edits.append((self.SAYS, self.SAYS + f"scan.lacks = {names}\\n"))
        for right, wrong in [*edits, *bugs]:
            self.assertEqual(text.count(right), 1, right)
            text = text.replace(right, wrong)
        return kernel_builds.build(self.folder, "scan.cc", "-Wno-unused", text=text,
                                   name="lacking")

    def test_what_is_lacking_is_not_judged(self):
        for names in ("carry_theta carry_h carry_k carry_v", "carry_k carry_v"):
            with self.subTest(names):
                done = self.judge(self.lacking(names), SCAN, "--json", "-")
                self.assertEqual(done.code, 0, done.out[-3000:] + done.err)
                self.assertEqual(summary(done.out)["pass"], SCAN.count("\n") - 1)

    def test_what_is_lacking_is_named(self):
        names = "carry_k carry_v"
        done = self.judge(self.lacking(names), SCAN)
        self.assertEqual(done.code, 0, done.out[-3000:] + done.err)
        self.assertIn("unjudged  carry_k, carry_v; the kernel has no such output", done.out)
        self.assertNotIn("carry_k: ", done.out)
        whole = self.judge(kernel_builds.build(
            self.folder, "scan.cc", text=kernel_builds.example("scan.cc")), SCAN)
        self.assertNotIn("unjudged", whole.out)

    def test_what_is_there_is_judged(self):
        bug = SCAN_BUGS["carry of the first token"]
        done = self.judge(self.lacking("carry_k carry_v", bugs=[bug]), SCAN)
        self.assertEqual(done.code, 1, done.out[-3000:] + done.err)
        self.assertIn("carry_h", done.out)

    def test_what_a_kernel_lacks_its_profile_does_not_claim(self):
        names = "carry_theta carry_h carry_k carry_v"
        done = self.judge(self.lacking(names, told=False), SCAN)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("the kernel has no such output", done.out)


class VerbTest(program.TestCase):
    """What the other verbs do with a kernel of somebody else."""

    def setUp(self):
        super().setUp()
        text = kernel_builds.example("attention.c")
        right, wrong = ATTENTION_BUGS["last key dropped"]
        self.good = "so:" + kernel_builds.build(self.folder, "attention.c", text=text)
        self.bad = "so:" + kernel_builds.build(self.folder, "attention.c", name="bad",
                                         text=text.replace(right, wrong))

    def test_fuzz_shrink_replay(self):
        done = run("fuzz", "--candidate", self.good, "--profile",
                   "from-candidate", "--budget", "60cases")
        self.assertEqual(done.code, 0, done.out[-2000:] + done.err)
        line = "attention_forward b=2 hq=2 hkv=1 sq=9 skv=12 d=8 cap=20 seed=4"
        done = run("shrink", line, "--candidate", self.bad, "--profile",
                   "from-candidate")
        self.assertIn("skv=2", done.out + done.err)
        found = self.path("found.ndjson")
        done = run("verify", line, "--candidate", self.bad, "--profile",
                   "from-candidate", "--json", found)
        self.assertEqual(done.code, 1, done.err)
        # Nothing starts a program that only a file names.
        self.assertUsage(run("replay", found), "--trust-file")
        self.assertEqual(run("replay", found, "--trust-file").code, 1)
        done = run("replay", found, "--candidate", self.good)
        self.assertEqual(done.code, 0, done.out[-2000:] + done.err)

    def test_receipt(self):
        receipt = self.path("r.json")
        line = program.SMALL
        done = run("verify", line, "--candidate", self.good, "--profile",
                   "from-candidate", "--receipt", receipt)
        self.assertEqual(done.code, 0, done.out[-2000:] + done.err)
        with open(receipt, encoding="utf-8") as file:
            text = file.read()
        for word in ('"name": "example-attention"', '"version": "1.0"',
                     '"guards": "pages"', '"isolation": "process"',
                     '"profile_source": "candidate"', '"peeking"'):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main()
