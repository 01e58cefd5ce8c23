"""`lockstep explain`, and the causes at the end of a failing case."""

import json
import unittest

import program
from program import SMALL, events, run

LINE = "attention_forward hq=2 sq=24 skv=24 d=8 mask=causal"


class Explain(program.TestCase):

    def test_a_bug_is_named(self):
        done = run("explain", LINE, "--candidate", "mutant:attn.causal_strict,base=cpu")
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("1     behaves like attn.causal_strict (j < i for j <= i): ",
                      done.out)
        self.assertIn("held against ", done.out)

    def test_json(self):
        done = run("explain", LINE, "--candidate", "mutant:attn.causal_strict",
                   "--json", "-")
        self.assertEqual(done.code, 1, done.err)
        first = json.loads(done.out)["causes"][0]
        self.assertEqual(first["cause"], "attn.causal_strict")
        self.assertTrue(first["same_bits"])
        self.assertEqual(first["alike"], [])

    def test_a_large_case_is_made_small_first(self):
        line = "attention_forward hq=4 hkv=2 sq=512 skv=512 d=32 mask=causal&window:99,0"
        done = run("explain", line, "--candidate", "mutant:attn.window_left_plus_one")
        self.assertEqual(done.code, 1, done.err)
        self.assertNotIn("sq=512 skv=512", done.out)
        self.assertIn("1     behaves like attn.window_left_plus_one", done.out)

    # On one key a dropped key is four bugs at once: what is replayed is the largest
    # of the smaller cases, not the smallest.
    def test_a_large_case_stays_large_enough_to_tell(self):
        line = ("attention_forward hq=4 hkv=2 sq=16 skv=4096 d=64 cap=30 "
                "sinklogit=const:1 mask=causal align=br kv_seg=runs:1000,3096 "
                "q_seg=ids:1*16")
        done = run("explain", line, "--candidate", "mutant:attn.drop_last_key", "--json",
                   "-")
        self.assertEqual(done.code, 1, done.err)
        explained = json.loads(done.out)
        self.assertEqual(explained["causes"][0]["cause"], "attn.drop_last_key")
        self.assertEqual(explained["causes"][0]["alike"], [])

    def test_a_law_that_is_broken(self):
        done = run("explain", "mamba3_scan b=2 t=70 h=4 g=2 n=16 p=8 seg=runs:30,40",
                   "--candidate", "mutant:scan.reset_lost_at_edge")
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("behaves like scan.reset_lost_at_edge", done.out)

    def test_tables(self):
        done = run("explain", "block_plan sq=64 skv=64 bq=16 bk=16 mask=causal",
                   "--candidate", "mutant:plan.diagonal_full")
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("behaves like plan.diagonal_full", done.out)

    def test_nothing_fails(self):
        done = run("explain", SMALL)
        self.assertEqual(done.code, 5)
        self.assertEqual(done.err, "lockstep: nothing to explain: the verdict is pass\n")

    def test_help_is_of_the_verb(self):
        done = run("explain")
        self.assertEqual(done.code, 2)
        self.assertEqual(done.err,
                         "lockstep: CASE is required (see lockstep explain --help)\n")

    def test_a_finding_of_another_kind(self):
        done = run("explain", LINE, "--candidate", "mutant:attn.racy")
        self.assertEqual(done.code, 1)
        self.assertIn("which says itself what is wrong", done.err)


class AtTheEndOfAFailure(program.TestCase):

    def test_the_first_failures_have_causes(self):
        cases = self.path("five.cases", "".join(f"{LINE} seed={n}\n" for n in range(5)))
        done = run("verify", "--cases", cases, "--candidate",
                   "mutant:attn.causal_strict", "--json", "-")
        self.assertEqual(done.code, 1)
        found = [event["attribution"] for event in events(done.out)
                 if event["kind"] == "finding" and event["check"] == "o"]
        self.assertEqual([len(causes) > 0 for causes in found],
                         [True, True, True, False, False])
        self.assertEqual(found[0][0]["cause"], "attn.causal_strict")

    def test_a_large_case_says_that_nothing_was_looked_for(self):
        done = run("verify", "attention_forward sq=512 skv=512 d=32 mask=causal",
                   "--candidate", "mutant:attn.causal_strict")
        self.assertIn("cause: not looked for on a case this large", done.out)

    def test_a_kernel_of_one_real_head_is_explained(self):
        done = run("verify", "attention_forward sq=48 skv=48 d=64 mask=causal",
                   "--candidate", "mutant:attn.causal_strict,base=cpu")
        self.assertIn("cause: behaves like attn.causal_strict", done.out)

    def test_a_passing_case_has_none(self):
        self.assertNotIn("cause:", run("verify", SMALL).out)


if __name__ == "__main__":
    unittest.main()
