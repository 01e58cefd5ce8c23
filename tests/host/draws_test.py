#!/usr/bin/env python3
"""Further draws show what a case's own numbers hide: wrong kernels of
blind_kernels.py that pass their case with no draws fail with draws, and the right
one passes.

usage: draws_test.py [--table] (--table: every kernel on two lines of 1024 keys)
"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import program  # noqa: E402
from program import events, run  # noqa: E402

ENVIRONMENT = {"PYTHONPATH": os.path.join(HERE, "..", "..", "python")}
# A line, and kernels that its draws show; one of each kind.
SHOWN = {
    "attention_forward hq=2 sq=12 skv=96 d=16 q_seg=runs:5,7 kv_seg=runs:40,56 "
    "sinklogit=normal:1 seed=2": ("sink_clamped", "ids_below_zero_hidden"),
    "attention_forward hq=2 sq=12 skv=96 d=16 seed=3": (
        "v_clamped_to_f16", "v_flushed_below_f16", "k_clamped_to_f16",
        "lse_is_top_of_one_key"),
    "attention_forward hq=2 sq=32 skv=96 d=16 cap=30 seed=2": ("tanh_overflows",),
}


def judged(names, lines, *options):
    """Verdicts of the cases and of their draws, by kernel."""
    specs = [word for name in names
             for word in ("--candidate", f"py:{HERE}/blind_kernels.py:{name}")]
    done = run("verify", *lines, *specs, "--profile", "from-candidate",
               "--json", "-", *options, env=ENVIRONMENT)
    found = {name: ([], []) for name in names}
    for event in events(done.out):
        if event["kind"] == "case":
            cases, draws = found[event["candidate"].split(":")[-1]]
            cases.append(event["verdict"])
            draws += [(draw["verdict"], draw["case"])
                      for draw in event.get("draws", [])]
    return done, found


class DrawsTest(program.TestCase):
    OPTIONS = ("--no-probes", "--no-invariance")

    def test_draws_show_what_the_case_hides(self):
        for line, names in SHOWN.items():
            done, found = judged(("ok",) + names, [line], "--draws", "12",
                                 *self.OPTIONS)
            self.assertEqual(done.code, 1, done.err)
            for name, (cases, draws) in found.items():
                self.assertNotIn("fail", cases, name)
                failed = [text for verdict, text in draws if verdict == "fail"]
                self.assertEqual(bool(failed), name != "ok", (name, draws))

    def test_a_draw_that_fails_fails_alone(self):
        line, (name, _) = next(iter(SHOWN.items()))
        _, found = judged([name], [line], "--draws", "12", *self.OPTIONS)
        failed = [text for verdict, text in found[name][1] if verdict == "fail"]
        done, found = judged([name], failed[:1], *self.OPTIONS)
        self.assertEqual(done.code, 1, done.err)
        self.assertEqual(found[name], (["fail"], []))

    def test_the_last_line_and_the_page_count_wrong_draws(self):
        line, (name, _) = next(iter(SHOWN.items()))
        page = self.path("p.html")
        done = run("verify", line, "--candidate", f"py:{HERE}/blind_kernels.py:{name}",
                   "--profile", "from-candidate", "--draws", "12", "--html", page,
                   *self.OPTIONS, env=ENVIRONMENT)
        self.assertRegex(done.out, r"\n1 case: 1 [a-z]+, \d+ of 12 draws wrong; .*; exit 1\n$")
        with open(page, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"<title>lockstep: 1 case, \d+ of 12 draws wrong</title>")

    def test_two_draws_where_nothing_else_is_asked_for(self):
        line = next(iter(SHOWN))
        _, found = judged(["ok"], [line], *self.OPTIONS)
        self.assertEqual(len(found["ok"][1]), 2)

    def test_no_draws_where_none_are_asked_for(self):
        line, names = next(iter(SHOWN.items()))
        done, found = judged(names, [line], "--draws", "0", *self.OPTIONS)
        self.assertNotEqual(done.code, 1, done.err)
        self.assertNotIn('"draws"', done.out)
        self.assertEqual(sum(len(draws) for _, draws in found.values()), 0)

    def test_what_a_draw_found_is_replayed_from_a_receipt(self):
        line, (name, _) = next(iter(SHOWN.items()))
        receipt = self.path("receipt.json")
        judged([name], [line], "--draws", "12", "--receipt", receipt,
               *self.OPTIONS)
        spec = f"py:{HERE}/blind_kernels.py:{name}"
        done = run("replay", receipt, "--candidate", spec, "--profile",
                   "from-candidate", env=ENVIRONMENT)
        self.assertEqual(done.code, 1, done.out + done.err)


def table():
    sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
    import blind_kernels
    lines = ["attention_forward hq=2 sq=64 skv=1024 d=64 mask=causal align=br seed=1",
             "attention_forward hq=2 sq=64 skv=1024 d=64 cap=30 q_seg=runs:32,32 "
             "kv_seg=runs:512,512 sinklogit=normal:1 seed=2"]
    _, found = judged(["ok", *blind_kernels.BUGS], lines, "--draws", "6")
    for name, (cases, draws) in found.items():
        shown = next((line for verdict, line in draws if verdict == "fail"), "")
        print(f"{name:28} cases {' '.join(cases):14} {shown}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        table()
    else:
        unittest.main()
