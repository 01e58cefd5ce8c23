"""`lockstep fuzz`, `shrink`: findings, exit codes, interrupts, refusals."""

import json
import os
import shlex
import signal
import subprocess
import time
import unittest

import program
from program import events, run, summary


class Fuzz(program.TestCase):

    def test_nothing_found(self):
        done = run("fuzz", "--budget", "120cases", "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        last = summary(done.out)
        self.assertEqual(last["cases"], 120)
        self.assertEqual(last["findings"], 0)
        self.assertIsNone(last["first_finding_s"])
        self.assertGreater(last["cases_per_second"], 0)
        self.assertEqual(last["canaries"], last["canaries_caught"])
        self.assertGreater(last["canaries"], 0)
        never = [name for name, n in last["features"].items() if n == 0]
        self.assertEqual(never, last["features_missing"])
        self.assertIn("features", done.err)

    def test_a_short_run_names_what_it_never_produced(self):
        done = run("fuzz", "--budget", "1cases")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("never produced: ", done.out)

    def test_finding_ends_in_a_line_that_shows_it(self):
        for mutant in ("attn.causal_plus_one", "attn.cap_stale",
                       "attn.merge_swapped"):
            done = run("fuzz", "attention_forward", "--candidate",
                       "mutant:" + mutant, "--json", "-")
            self.assertEqual(done.code, 1, done.err)
            finding = events(done.out)[0]
            self.assertEqual(finding["kind"], "finding")
            self.assertEqual(summary(done.out)["findings"], 1)
            words = shlex.split(finding["replay"])
            self.assertEqual(words[:2], ["lockstep", "verify"])
            again = run(*words[1:], "--json", "-")
            self.assertEqual(again.code, 1, again.err)
            tier = finding["signature"].split(":")[0]
            self.assertIn(tier, [e.get("tier") for e in events(again.out)])
            if "probe:" not in finding["replay"]:
                self.assertIn(finding["case"], words)

    def test_the_same_seed_finds_the_same(self):
        found = []
        for seed in ("5", "5", "6"):
            done = run("fuzz", "--candidate", "mutant:attn.prefix_plus_one",
                       "--seed", seed, "--json", "-")
            finding = events(done.out)[0]
            found.append((finding["index"], finding["found"], finding["case"]))
        self.assertEqual(found[0], found[1])
        self.assertNotEqual(found[0], found[2])

    def test_interrupt(self):
        for candidate, code in (("builtin:reference", 130),
                                ("mutant:attn.zeros", 1)):
            path = self.path(candidate.replace(":", "_"))
            child = subprocess.Popen(
                [os.path.abspath(program.PROGRAM), "fuzz", "--candidate",
                 candidate, "--findings", "0", "--json", path],
                stdout=subprocess.PIPE, text=True)
            time.sleep(2)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
            self.assertEqual(child.returncode, code, out)
            self.assertIn("interrupted", out)
            with open(path, encoding="utf-8") as file:
                last = summary(file.read())
            self.assertTrue(last["interrupted"])
            self.assertEqual(last["findings"] > 0, code == 1)

    def test_shrink(self):
        done = run("shrink",
                   "attention_forward hq=2 sq=17 skv=21 d=8 mask=causal "
                   "cap=5 seed=9", "--candidate", "mutant:attn.causal_strict")
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("shrunk: attention_forward sq=1 skv=1 d=1 mask=causal",
                      done.out)
        done = run("shrink", "attention_forward sq=3 skv=3 d=4")
        self.assertEqual(done.code, 5)
        self.assertIn("nothing to shrink", done.err)

    def test_refusals(self):
        self.assertUsage(run("fuzz", "attention"), "attention_forward")
        self.assertUsage(run("fuzz", "--budget", "ten"), "budget")
        self.assertUsage(run("fuzz", "--seed", "-1"), "--seed")
        self.assertUsage(run("fuzz", "--candidate", "files:."), "fixed cases")
        self.assertUsage(run("fuzz", "--candidate", "mutant:attn.no"),
                         "nearest")
        self.assertUsage(run("fuzz", "--profile", "none"), "none")
        self.assertUsage(run("fuzz", "--json", "/no/such/x"), "/no/such")
        self.assertUsage(run("fuzz", "--cases", "3"), "--cases")
        self.assertUsage(run("shrink", "attention_forward sq=1"), "skv")

    def test_help(self):
        for verb in ("fuzz", "shrink"):
            done = run(verb, "--help")
            self.assertEqual(done.code, 0, done.err)
            self.assertIn("Example", done.out)
        self.assertIn("fuzz", run("--help").out)


if __name__ == "__main__":
    unittest.main()
