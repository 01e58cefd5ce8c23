#!/usr/bin/env python3
"""`lockstep check`: the sentence about a kernel that says nothing of itself, and the verdict. Right
kernels are never failed, wrong ones are named, and no sentence is wrong."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [PACKAGE, HERE, os.path.join(HERE, "..", "cli")]
os.environ["PYTHONPATH"] = PACKAGE
os.environ["OMP_NUM_THREADS"] = "1"

import program  # noqa: E402
import lockstep  # noqa: E402
from lockstep.errors import UsageError  # noqa: E402
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
        self.reads("far_window", "causal window=512")
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
        said = self.reads("packed_rows", "causal")
        self.assertTrue(said["computes"].endswith(", segments of segment_ids= apart"), said["computes"])
        said = self.reads("int_window", "causal")
        self.assertIn("(the query's own key and W before it)", said["told"])

    def test_wrong_kernels(self):
        for name, words in (("cap_in_one_tile", "no softcap is applied for keys 0..63, as queries 6"),
                            ("half_scale", "scores are 0.5 times those of the scale 1/sqrt(d)"),
                            ("exp2_alone", "as exp2 without log2(e) makes them"),
                            ("packed_late", "the first query of a segment (segment_ids=) still sees"),
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


class Scans(unittest.TestCase):
    """The form of A, what a scan is told, and whether it heeds it."""

    def test_forms(self):
        for name, form, words in (("scan", "heads", "scan segments"), ("folded", "folded", "scan"),
                                  ("scan_from", "heads", "scan initial_state")):
            said = look(name)
            self.assertEqual((said["is"], said["trouble"]), (words, ""))
            self.assertIn(f"layout={form}", said["spec"])
        self.assertEqual(look("folded")["returns"], "y and the last state")

    def test_what_it_does_not_heed(self):
        self.assertIn("first token of a run still reads", look("scan_late")["trouble"])
        self.assertIn("initial_states= is ignored", look("scan_from_zero")["trouble"])

    def test_no_sentence(self):
        with self.assertRaisesRegex(UsageError, "no scan that check knows"):
            look("softplus")


class Verdicts(program.TestCase):
    """The program: line one, exit codes, what was not looked at."""

    def check(self, name, *more, code):
        done = program.run("check", f"{KERNELS}:{name}", "--budget", "40cases", *more)
        self.assertEqual(done.code, code, done.out + done.err)
        return done.out if code != 2 else done.err

    def test_pass_and_consistent(self):
        said = self.check("right", "--is", STATED, code=0)
        self.assertRegex(said, r"\nPASS      f32 under 1 convention, in [\d.]+ s\n$")
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

    # Windows that only longer cases show, and one that no question shows.
    def test_what_was_measured_is_judged(self):
        said = self.check("far_window", "--is", "causal", code=1)
        self.assertIn("FAIL      the mask is: causal, window 512 keys", said)
        for name, code in (("farther_window", 0), ("far_window", 1)):
            self.check(name, "--is", "causal window=3000", code=code)

    def test_parameters_take_what_is_stated(self):
        self.check("told", "--is", STATED + " align=br", code=0)
        said = self.check("told", "--is", STATED, code=1)
        self.assertTrue(said.startswith("FAIL      the mask is aligned at the bottom right"), said)
        self.check("narrow", "--is", "causal window=17", code=1)

    def test_what_it_does_not_take_is_not_asked(self):
        said = self.check("picky", "--is", "causal", code=0)
        self.assertRegex(said, r"\ndrawn     \d+ drawn cases right in .*; channels (32|64)..(32|64), heads")
        self.assertIn("\nnot taken fewer key heads than query heads\n          queries and keys of "
                      "different number\n          values of another width\n", said)

    def test_scans(self):
        said = self.check("scan", "--is", "scan segments", code=0)
        self.assertIn("\nyours     NaN of one run reaches another", said)
        self.assertTrue(self.check("scan_late", code=1).startswith("FAIL      the first token of a run"))
        self.check("folded", "--is", "scan", code=0)

    def test_a_kernel_that_is_told_of_each_call(self):
        said = program.run("check", "builtin:optimized", "--budget", "40cases", "--is", "causal")
        self.assertRegex(said.out, r"\nPASS      f32[^\n]*\n$")
        said = program.run("check", "mutant:attn.window_left_plus_one", "--budget", "200cases")
        self.assertEqual(said.code, 1, said.out)
        self.assertTrue(said.out.startswith("FAIL      each query sees one key too many"), said.out)

    def test_written_files_are_a_gate(self):
        check = ("check", f"{KERNELS}:right", "--is", STATED, "--budget", "40cases", "--write")
        self.assertEqual(program.run(*check, cwd=self.folder).code, 0)
        with open(os.path.join(self.folder, ".github/workflows/lockstep.yml"), encoding="utf-8") as file:
            self.assertNotIn("auto", file.read())
        done = program.run("verify", "--trust-file", "--fresh-seed", "0", cwd=self.folder)
        self.assertIn("6 cases: 6 pass", done.out + done.err)
        done = program.run(*check, cwd=self.folder)
        self.assertEqual((done.code, done.err.count("\n")), (2, 1))
        self.assertIn("--write replaces nothing, and lockstep.toml is there", done.err)

    def test_python(self):
        os.environ["LOCKSTEP_PROGRAM"] = os.path.abspath(program.PROGRAM)
        import check_kernels
        found = lockstep.check(check_kernels.exp2_alone, STATED, budget="40cases")
        self.assertEqual((found.verdict, found.exit), ("fail", 1))
        self.assertIn("exp2 without log2(e)", found.cause)
        with self.assertRaises(lockstep.Failed):
            found.check()
        self.assertTrue(lockstep.check(check_kernels.two_sided, budget="40cases").check().passed)
        with self.assertRaisesRegex(UsageError, "at the top of a file"):
            lockstep.check(lambda q, k, v: q)

    def test_segments(self):
        said = self.check("packed_rows", "--is", "causal", code=0)
        self.assertIn("right     7 of 7 shapes", said)
        said = self.check("packed_late", "--is", "causal", code=1)
        self.assertIn("q_seg=runs:30,34", said.splitlines()[1])

    def test_usage(self):
        for name, more, words in (
                ("packed", (), "packed(qkv) has no parameter q, k, v"),
                ("needs", (), "needs also wants table"),
                ("broken", (), "ValueError: no such shape"),
                ("nothing", (), "has no function 'nothing'"),
                ("biased", (), "state it with --is"),
                ("right", ("--is", "scan"), "its parameters are those of attention"),
                ("scan", ("--is", "scan initial_state"), "no parameter that is known for initial_state"),
                ("right", ("--is", "casual"), "--is: 'casual': want some of causal, full"),
                ("right", ("--is", "causal window=x"), "window=KEYS"),
                ("right", ("--is", "full window=4"), "not both")):
            said = self.check(name, *more, code=2)
            self.assertIn(words, said)
            self.assertEqual(said.count("\n"), 1, said)


if __name__ == "__main__":
    unittest.main()
