#!/usr/bin/env python3
"""`lockstep check`: the sentence about a kernel that says nothing of itself, and the verdict. Right
kernels are never failed, wrong ones are named, and no sentence is wrong."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [PACKAGE, os.path.join(HERE, "..", "cli")]
os.environ["PYTHONPATH"] = PACKAGE
os.environ["OMP_NUM_THREADS"] = "1"

import program  # noqa: E402
from lockstep.looked import looked  # noqa: E402

KERNELS = os.path.join(HERE, "check_kernels.py")
WINDOW = {"mask": "causal&window:127,0", "cap": "50"}
STATED = "causal window=128 softcap=50"


def look(name, **stated):
    """What the program is told of a kernel."""
    return looked(f"{KERNELS}:{name}", stated)


class Sentences(unittest.TestCase):
    """What kernels compute, in words, and what it is called by --is."""

    def reads(self, name, words, **stated):
        said = look(name, **stated)
        self.assertEqual((said["is"], said["trouble"], said["unreadable"]), (words, "", ""), said)
        return said

    def test_right_kernels(self):
        said = self.reads("right", STATED)
        self.assertIn("window 128 keys (the query and 127 before it), query i at key i, softcap 50, "
                      "scale 1/sqrt(d)", said["computes"])
        self.reads("bottom_right", "causal align=br")
        self.reads("two_sided", "window=7,3")
        self.reads("chunks", "mask=chunked:16")

    def test_signatures(self):
        said = self.reads("told", "full")
        self.assertEqual(said["told"], "is_causal, window_size and softcap")
        self.assertIn("layout=bshd", said["spec"])
        self.reads("Layer", "causal window=40")
        self.reads("Layer.forward", "causal window=40")
        self.reads("layer.forward", "causal window=24")
        self.reads("narrow", "causal window=16")
        said = self.reads("one_head", "full")
        self.assertEqual((said["returns"], said["lse"]), ("o and lse", "e"))
        self.assertIn("layout=sd", said["spec"])
        said = self.reads("int_window", "causal")
        self.assertIn("(the query's own key and W before it)", said["told"])

    def test_wrong_kernels(self):
        for name, words in (("cap_in_one_tile", "in keys 0..63 of queries 64.."),
                            ("half_scale", "scores are 0.5 times those of the scale 1/sqrt(d)"),
                            ("exp2_alone", "as exp2 without log2(e) makes them"),
                            ("groups_modulo", "reads key head h mod 2")):
            self.assertIn(words, look(name)["trouble"], name)

    def test_differences(self):
        for name, words in (
                ("window_off_by_one", "one key too many to the left: 129 keys where window=128"),
                ("no_cap", "no softcap is applied where softcap=50 is stated")):
            self.assertIn(words, look(name, **WINDOW)["differs"], name)
        self.assertIn("one key too many", look("int_window", mask="causal&window:127,0")["differs"])
        self.assertIn("aligned at the bottom right", look("bottom_right", mask="causal")["differs"])
        self.assertEqual("", look("right", **WINDOW)["differs"])
        self.assertEqual("", look("told", align="br", **WINDOW)["differs"])

    def test_no_sentence(self):
        self.assertIn("not q.k with a factor and a softcap", look("biased")["unreadable"])


class Verdicts(program.TestCase):
    """The program: line one, exit codes, what was not looked at."""

    def check(self, name, *more, code):
        done = program.run("check", f"{KERNELS}:{name}", "--budget", "40cases", *more)
        self.assertEqual(done.code, code, done.out + done.err)
        return done.out if code != 2 else done.err

    def test_pass_and_consistent(self):
        said = self.check("right", "--is", STATED, code=0)
        self.assertRegex(said, r"\nPASS      f32 under 1 convention, in \d+ s\n$")
        self.assertIn("right     6 of 6 shapes", said)
        self.assertIn("a kernel with a planted bug in its place was caught", said)
        self.assertIn("not seen  lse", said)
        said = self.check("right", code=0)
        self.assertTrue(said.endswith(f"\nCONSISTENT with: {STATED}\n"), said)
        self.assertNotIn("PASS", said)
        self.check("two_sided", "--require-stated", code=5)

    def test_fail_names_the_cause_first(self):
        for name, words in (("window_off_by_one", "one key too many to the left"),
                            ("cap_in_one_tile", "no softcap is applied"),
                            ("groups_modulo", "h mod 2"), ("exp2_alone", "exp2 without log2(e)")):
            first, case, wrong, again = self.check(name, "--is", STATED, code=1).splitlines()[:4]
            self.assertRegex(first, "^FAIL      .*" + words.replace("(", r"\(").replace(")", r"\)"))
            self.assertTrue(case.startswith("case      attention_forward "), case)
            self.assertRegex(wrong, r"^wrong     [\d ]+ of [\d ]+ outputs, first o\[b=0 h=\d i=\d+ c=0\]")
            self.assertTrue(again.startswith("again     lockstep verify '"), again)

    def test_a_wrong_number_everywhere_is_no_reading(self):
        self.assertIn("0.5 times those of the scale", self.check("half_scale", code=1))

    def test_parameters_take_what_is_stated(self):
        self.check("told", "--is", STATED + " align=br", code=0)
        said = self.check("told", "--is", STATED, code=1)
        self.assertTrue(said.startswith("FAIL      the mask is aligned at the bottom right"), said)
        self.check("narrow", "--is", "causal window=17", code=1)

    def test_usage(self):
        for name, more, words in (
                ("packed", (), "packed(qkv) has no parameter q, k, v"),
                ("needs", (), "needs also wants table"),
                ("broken", (), "ValueError: no such shape"),
                ("nothing", (), "has no function 'nothing'"),
                ("biased", (), "state it with --is"),
                ("right", ("--is", "casual"), "--is: 'casual': want some of causal, full"),
                ("right", ("--is", "causal window=x"), "window=KEYS"),
                ("right", ("--is", "full window=4"), "not both")):
            said = self.check(name, *more, code=2)
            self.assertIn(words, said)
            self.assertEqual(said.count("\n"), 1, said)


if __name__ == "__main__":
    unittest.main()
