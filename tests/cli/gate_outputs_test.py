#!/usr/bin/env python3
"""What a gate leaves for other programs: drawn data, and the receipt that says which; exit
codes for git bisect."""

import json
import os
import re
import subprocess
import unittest

import program
from program import SMALL, run

WRONG = "mutant:attn.causal_plus_one"
CASES = f"""# two of one op
{SMALL}

attention_forward hq=2 sq=6 skv=9 d=8 mask=causal seed=4
"""
KNOWN = ('[[known_failure]]\nop = "attention_forward"\n'
         'signature = ["bits:o", "bits:lse"]\nexpires = 2999-12-31\n'
         'reason = "the ticket"\n')


class Gate(program.TestCase):
    def setUp(self):
        super().setUp()
        self.path("k.cases", CASES)

    def configure(self, text):
        self.path("lockstep.toml", 'cases = "k.cases"\n' + text)

    def gate(self, *arguments, env=None):
        return run("verify", *arguments, cwd=self.folder, env=env)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)


class FreshTest(Gate):
    """In a gate half of the seeds are drawn, and the receipt says from what."""

    def seeds(self, *arguments):
        done = self.gate(*arguments, "--receipt", "r.json")
        self.assertEqual(done.code, 0, done.out + done.err)
        receipt = self.read("r.json")
        lines = [case["problem"]["case"] for case in receipt["cases"]]
        fresh = [case["problem"]["fresh"] for case in receipt["cases"]]
        found = [int(re.search(r" seed=(\d+)", line)[1]) for line in lines]
        return receipt["request"]["fresh_seed"], found, fresh, done.out

    def test_half_of_a_gate(self):
        self.configure("")
        seed, seeds, fresh, out = self.seeds()
        self.assertNotEqual(seed, 0)
        self.assertEqual(seeds[0::2], [3, 4])
        self.assertEqual(fresh, [False, True, False, True])
        self.assertNotIn(seeds[1], (3, 4))
        self.assertIn(f"fresh     seed {seed}: 2 of 4 cases", out)

    def test_every_run_draws(self):
        self.configure("")
        first, second = self.seeds()[0:2], self.seeds()[0:2]
        self.assertNotEqual(first[0], second[0])
        self.assertNotEqual(first[1], second[1])

    def test_a_seed_draws_the_same_again(self):
        self.configure("")
        seed, seeds = self.seeds()[0:2]
        self.assertEqual(self.seeds("--fresh-seed", str(seed))[1], seeds)
        self.configure(f"fresh_seed = {seed}\n")
        self.assertEqual(self.seeds()[1], seeds)

    def test_a_finding_replays_alone(self):
        # A kernel that knows the answers of the written seeds is seen.
        self.configure(f'candidate = "{WRONG}"\nfresh_seed = 5\n')
        done = self.gate("--json", "-")
        lines = [e["replay"] for e in program.events(done.out) if e["kind"] == "finding"]
        fresh = [line for line in lines if "seed=3 " not in line and
                 "seed=4 " not in line and "seed=3'" not in line and "seed=4'" not in line]
        self.assertTrue(fresh, lines)
        again = subprocess.run(
            ["bash", "-c", fresh[0].replace("lockstep", os.path.abspath(program.PROGRAM), 1)],
            capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_none_where_runs_are_compared(self):
        self.configure("")
        for arguments in (("--bisect",), ("--shard", "0/1"), ("--seed", "9")):
            with self.subTest(arguments=arguments):
                seed, seeds, _, out = self.seeds(*arguments)
                self.assertEqual(seed, 0)
                self.assertEqual(len(seeds), 2)
                self.assertNotIn("fresh ", out)
                wrong = self.gate(*arguments, "--fresh-seed", "random")
                self.assertEqual(wrong.code, 125 if "--bisect" in arguments else 2)
                self.assertIn(arguments[0], wrong.err)
        self.assertEqual(self.seeds("--shard", "0/1", "--fresh-seed", "5")[0], 5)

    def test_none_of_files(self):
        folder, _ = self.export(SMALL)
        self.path("k.cases", SMALL + "\n")
        self.configure(f'candidate = "files:{folder}"\nprofile = "exact-f32"\n')
        done = self.gate("--receipt", "r.json")
        self.assertEqual(self.read("r.json")["request"]["fresh_seed"], 0)
        self.assertEqual(len(self.read("r.json")["cases"]), 1)
        self.assertUsage(self.gate("--fresh-seed", "5"), "files:")

    def test_none_outside_a_gate(self):
        self.assertEqual(self.seeds("--cases", "k.cases")[0], 0)
        self.assertEqual(self.seeds("--cases", "k.cases", "--fresh-seed", "5")[2],
                         [False, True, False, True])

    def test_what_draws_nothing_is_judged_once(self):
        self.path("k.cases", "attention_forward sq=4 skv=6 d=4 fill=const:1 seed=3\n"
                             "attention_forward sq=0 skv=6 d=4 expect=refuse seed=4\n"
                             "attention_forward sq=4 skv=6 d=4 fill=const:1 "
                             "mask=random:0.5 seed=5\n")
        done = self.gate("--cases", "k.cases", "--fresh-seed", "5", "--json", "-")
        kept = [e["case"] for e in program.events(done.out) if e["kind"] == "case"]
        self.assertEqual(len(kept), 4, kept)

    def test_calls_of_a_sequence_keep_what_they_share(self):
        self.path("k.cases", f"{SMALL} ;; {SMALL} ;; {SMALL.replace('seed=3', 'seed=5')}\n")
        _, seeds, _, _ = self.seeds("--cases", "k.cases", "--fresh-seed", "5")
        self.assertEqual(seeds[0:3], [3, 3, 5])
        self.assertEqual(seeds[3], seeds[4])
        self.assertNotEqual(seeds[3], seeds[5])

    def test_bad_seeds(self):
        for seed in ("-1", "x", str(2**53)):
            self.assertUsage(self.gate(SMALL, "--fresh-seed", seed), "random", "2^53")


class BisectTest(Gate):
    def code(self, *arguments):
        return self.gate(*arguments, "--bisect").code

    def test_codes(self):
        self.assertEqual(self.code(SMALL), 0)
        self.assertEqual(self.code(SMALL, "--candidate", WRONG), 1)
        # 2: a line, an option, a configuration, a program
        self.assertEqual(self.code("attention_forward sq=0"), 125)
        self.assertEqual(self.code(SMALL, "--no-such-option"), 125)
        self.configure("cases = 1")
        self.assertEqual(self.code(), 125)
        self.assertEqual(self.code(SMALL, "--candidate", "cmd:/nowhere", "--profile",
                                   "cpu-f32"), 125)
        # 5, 77
        self.assertEqual(self.code(SMALL, "--fail-on", "suspicious", "--no-probes",
                                   "--budget", "1cases", "--max-skipped", "0",
                                   SMALL), 125)
        self.assertEqual(self.code("mamba3_scan t=4 n=4 p=2", "--candidate", "variant:cpu",
                                   "--profile", "cpu-f32"), 125)

    def test_an_end_inside_a_case_too(self):
        # Its kernel never answers.
        self.assertEqual(self.code(
            SMALL, "--budget", "1s", "--profile", "from-candidate", "--candidate",
            program.held_kernel(self)), 125)


if __name__ == "__main__":
    unittest.main()
