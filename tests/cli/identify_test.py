"""`lockstep identify`, and --profile auto."""

import json
import os
import unittest

import program
from program import events, run

CASE = "attention_forward sq=5 skv=33 d=8 cap=20 mask=causal align=br seed=3"
PLAIN = {"CI": ""}


class Identify(program.TestCase):

    def test_the_profile_is_a_file_that_verify_takes(self):
        path = os.path.join(self.folder, "mine.profile")
        done = run("identify", "variant:cpu-scaled-q", "--out", path)
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("seen", done.err)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("base = cpu-f32\n", text)
        self.assertIn("scale_at = q_f32\n", text)
        # A line of evidence stands above its field.
        line = next(n for n in text.splitlines() if n.startswith("# scale_at"))
        self.assertIn("# scale_at = q_f32: 64 scores", line)
        self.assertIn("# max = running: assumed, not asked: running covers two passes", text)
        done = run("verify", CASE, "--candidate", "variant:cpu-scaled-q", "--profile", path)
        self.assertEqual(done.code, 0, done.out + done.err)

    def test_a_convention_is_reported_and_not_taken_over(self):
        done = run("identify", "variant:cpu-lse-base2")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("\nlse_base = e\n", done.out)
        self.assertIn("reported: lse of one key was log2(e) times its score; to add, if "
                      "it is meant: lse_base = 2", done.out)

    def test_what_no_value_explains_is_exit_1(self):
        done = run("identify", "mutant:attn.cap_clamp")
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("# tanh_rel = 0x1p-21: cannot tell: ", done.out)

    def test_lanes(self):
        done = run("identify", "variant:hopper")
        self.assertIn("base = flash-bf16\n", done.out)
        self.assertIn("acc_qk = mma:16,2\n", done.out)
        done = run("identify", "builtin:optimized", "--lane", "bf16")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("p = bf16\n", done.out)
        done = run("identify", "variant:flash-f16")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("base = flash-f16\n", done.out)
        self.assertIn("# p = f16: 192 differences of two weights", done.out)
        done = run("identify", "variant:mimo-f16", "--op", "mamba3_scan")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("base = siso-f16-a32\n", done.out)
        self.assertIn("scan.rank_sum = f16\n", done.out)

    def test_bad_input(self):
        self.assertUsage(run("identify"), "candidate")
        self.assertUsage(run("identify", "variant:none"), "none")
        self.assertUsage(run("identify", "files:."), "answers only")
        self.assertUsage(run("identify", "variant:cpu", "--op", "block_plan"), "block_plan")
        self.assertUsage(run("identify", "variant:cpu", "--out", "/none/x"), "/none")


class Auto(program.TestCase):

    def judge(self, candidate, *more, env=None):
        return run("verify", CASE, "--candidate", candidate, "--profile", "auto", *more,
                   env={**PLAIN, **(env or {})})

    def test_a_right_kernel_passes(self):
        receipt = os.path.join(self.folder, "receipt.json")
        done = self.judge("variant:cpu-base2", "--receipt", receipt, "--json", "-")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("--profile auto: identified by", done.err)
        with open(receipt, encoding="utf-8") as file:
            asked = json.load(file)["request"]
        self.assertEqual(asked["profile_source"], "auto")
        found = asked["identified"]
        self.assertIn("exp_base = 2\n", found["text"])
        self.assertIn(found["digest"], done.err)
        event = events(done.out)[1]
        self.assertEqual(event.pop("kind"), "identified")
        self.assertEqual(event, found)
        words = {field["field"]: field["word"] for field in found["fields"]}
        self.assertEqual(words["exp_base"], "seen")

    def test_bugs_still_fail(self):
        for bug in ("attn.p_bf16,base=cpu", "attn.lse_log2,base=cpu",
                    "attn.cap_wrong_value,base=cpu", "attn.drop_last_key,base=cpu"):
            done = self.judge("mutant:" + bug)
            self.assertEqual(done.code, 1, bug + done.out + done.err)

    def test_a_gate_does_not_learn(self):
        done = self.judge("variant:cpu", env={"CI": "true"})
        self.assertUsage(done, "--allow-auto")
        self.assertEqual(len(done.err.splitlines()), 1)
        done = self.judge("variant:cpu", "--allow-auto", env={"CI": "true"})
        self.assertEqual(done.code, 0, done.out + done.err)

    def test_fuzz(self):
        words = ("fuzz", "attention_forward", "--profile", "auto", "--budget", "20cases",
                 "--candidate")
        done = run(*words, "variant:cpu-base2", env=PLAIN)
        self.assertEqual(done.code, 0, done.out + done.err)
        done = run(*words, "mutant:attn.lse_log2,base=cpu", env=PLAIN)
        self.assertEqual(done.code, 1, done.out + done.err)
        done = run(*words, "variant:cpu", env={"CI": "true"})
        self.assertUsage(done, "--allow-auto")
        self.assertIn("a gate must not learn", done.err)
        done = run(*words, "mutant:attn.lse_log2,base=cpu", "--allow-auto", env={"CI": "true"})
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("--profile auto --allow-auto", done.out)

    def test_replay_lines_say_that_a_gate_may_learn(self):
        done = self.judge("mutant:attn.lse_log2,base=cpu", "--allow-auto", env={"CI": "true"})
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("--profile auto --allow-auto", done.out)
        done = self.judge("mutant:attn.lse_log2,base=cpu")
        self.assertNotIn("--allow-auto", done.out)

    def test_gradients(self):
        case = "attention_backward hq=2 hkv=1 sq=5 skv=9 d=8 lane=bf16 seed=3"
        judge = ("verify", case, "--profile", "auto", "--candidate")
        done = run(*judge, "variant:grad-flash-ds-q", env=PLAIN)
        self.assertEqual(done.code, 0, done.out + done.err)
        done = run(*judge, "mutant:grad.scale_missing_dk", env=PLAIN)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("grad.dk_scale_at: cannot tell", done.err)

    def test_scans(self):
        for case in ("ssd_scan t=9 n=8 p=4 lane=bf16", "mamba3_step t=3 n=8 p=4",
                     "mamba3_scan_backward t=5 n=8 p=8 s=4 lane=bf16"):
            done = run("verify", case, "--profile", "auto", "--candidate", "builtin:optimized",
                       env=PLAIN)
            self.assertEqual(done.code, 0, case + done.out + done.err)
        done = run("verify", "ssd_scan t=9 n=8 p=4", "--profile", "auto", "--candidate",
                   "mutant:ssd.exp2_of_natural", env=PLAIN)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("exp_rel: cannot tell: ", done.err)

    def test_json(self):
        done = run("identify", "--candidate", "variant:cpu", "--json", "-")
        self.assertEqual(done.code, 0, done.out + done.err)
        event, = events(done.out)
        self.assertEqual((event["kind"], event["op"]), ("identified", "attention_forward"))

    def test_refusals(self):
        bf16 = CASE + " lane=bf16"
        done = run("verify", CASE, bf16, "--candidate", "variant:cpu", "--profile", "auto",
                   env=PLAIN)
        self.assertUsage(done, "lanes")
        done = self.judge("variant:cpu", "--candidate", "variant:cpu-fma")
        self.assertUsage(done, "one candidate")
        done = run("verify", "block_plan sq=8 skv=8", "--candidate", "builtin:optimized",
                   "--profile", "auto", env=PLAIN)
        self.assertUsage(done, "kernels of block_plan cannot be asked")


if __name__ == "__main__":
    unittest.main()
