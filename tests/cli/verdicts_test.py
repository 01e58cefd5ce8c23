"""Verdicts and exit codes, end to end."""

import os
import signal
import unittest

import program
from program import SMALL, events, run, summary

VACUOUS = "attention_forward sq=4 skv=4 d=8 fill=const:0"


class Codes(program.TestCase):

    def test_pass(self):
        done = run("verify", SMALL)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("1 case: 1 pass", done.out)
        self.assertEqual(done.err, "")

    def test_vacuous(self):
        self.assertEqual(run("verify", VACUOUS).code, 5)
        self.assertEqual(run("verify", VACUOUS + " expect=vacuous").code, 0)

    def test_nothing_ran(self):
        cases = self.path("empty.cases", "# nothing\n")
        done = run("verify", "--cases", cases, "--json", "-")
        self.assertEqual(done.code, 5)
        self.assertEqual(summary(done.out)["cases"], 0)
        self.assertEqual(summary(done.out)["exit"], 5)

    def test_a_refusal_that_is_expected(self):
        line = "attention_forward sq=4 skv=4 d=0 expect=refuse"
        self.assertEqual(run("verify", line).code, 0)
        wrong = SMALL + " expect=refuse"
        self.assertEqual(run("verify", wrong).code, 1)

    def test_precedence(self):
        folder, tensors = self.export(SMALL)
        tensors["o"][2][0] ^= 1
        self.write_outputs(folder, tensors)
        done = run("verify", SMALL, "--candidate", "builtin:reference",
                   "--candidate", "files:" + folder, "--profile",
                   "exact-f32", "--json", "-")
        self.assertEqual(done.code, 1)
        total = summary(done.out)
        self.assertEqual((total["pass"], total["fail"]), (1, 1))
        # A failure outranks a vacuous case.
        cases = self.path("two.cases", f"{VACUOUS}\n{SMALL} expect=fail\n")
        done = run("verify", "--cases", cases, "--json", "-")
        self.assertEqual(done.code, 1)
        self.assertEqual(summary(done.out)["untrusted"], 1)

    def test_a_target_this_cpu_lacks(self):
        targets = run("list", "targets").out.splitlines()
        missing = [t.split()[0] for t in targets if "not on this CPU" in t]
        if not missing:
            self.skipTest("this CPU has every target")
        spec = "builtin:optimized@" + missing[0]
        done = run("verify", SMALL, "--candidate", spec, "--json", "-")
        self.assertEqual(done.code, 77)
        self.assertEqual(summary(done.out)["skipped"], 1)
        # Somebody else ran: no longer nothing.
        done = run("verify", SMALL, "--candidate", spec, "--candidate",
                   "builtin:reference")
        self.assertEqual(done.code, 0)

    def test_a_profile_that_does_not_cover_the_case(self):
        folder, _ = self.export(SMALL)
        done = run("verify", SMALL, "--candidate", "files:" + folder,
                   "--profile", "exact-bf16", "--json", "-")
        self.assertEqual(done.code, 5)
        self.assertEqual(summary(done.out)["skipped"], 1)

    def test_a_broken_environment_judges_nothing(self):
        library = os.environ.get("LOCKSTEP_BAD_ROUNDING", "")
        if program.SANITIZED or not library:
            self.skipTest("needs a preloaded library")
        done = run("verify", SMALL, "--json", self.path("out.json"),
                   env={"LD_PRELOAD": library})
        self.assertEqual(done.code, 6)
        self.assertIn("rounding", done.err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_oracle_whose_fma_rounds_twice_judges_nothing(self):
        library = os.environ.get("LOCKSTEP_BAD_FMA", "")
        if program.SANITIZED or not library:
            self.skipTest("needs a preloaded library")
        for verb in (("verify", SMALL), ("env",)):
            done = run(*verb, env={"LD_PRELOAD": library})
            self.assertEqual(done.code, 6)
            self.assertRegex(done.err, r"self-check failed: std::fma rounds "
                             r"twice .*\n$")

    def test_an_environment_that_changes_while_judging_gives_no_verdict(self):
        library = os.environ.get("LOCKSTEP_BAD_LATER", "")
        if program.SANITIZED or not library:
            self.skipTest("needs a preloaded library")
        done = run("verify", SMALL, env={"LD_PRELOAD": library})
        self.assertEqual(done.code, 6)
        self.assertIn("self-check failed after judging", done.err)

    def test_a_thread_that_flushes_blames_no_kernel(self):
        library = os.environ.get("LOCKSTEP_BAD_THREADS", "")
        if program.SANITIZED or not library:
            self.skipTest("needs a preloaded library")
        flushed = "attention_forward hq=8 sq=64 skv=64 d=8 fill=v.subnormal:1 seed=3"
        for words in (("verify", flushed, "--threads", "2"),
                      ("fuzz", "attention_forward", "--candidate",
                       "builtin:optimized,threads=2", "--budget", "3cases", "--seed", "1")):
            with self.subTest(words[0]):
                done = run(*words, env={"LD_PRELOAD": library})
                self.assertEqual(done.code, 6, done.out + done.err)
                self.assertRegex(done.err, r"thread \d+: subnormal results are flushed")

    def test_cases_side_by_side_in_a_thread_that_flushes(self):
        library = os.environ.get("LOCKSTEP_BAD_THREADS", "")
        if program.SANITIZED or not library:
            self.skipTest("needs a preloaded library")
        cases = [f"attention_forward sq=8 skv=8 d=8 fill=v.subnormal:1 seed={n}"
                 for n in range(4)]
        done = run("verify", *cases, "--threads", "1", "--jobs", "2",
                   env={"LD_PRELOAD": library, "BAD_THREADS": "own"})
        self.assertEqual(done.code, 6, done.out + done.err)
        self.assertRegex(done.err, r"thread \d+: subnormal results are flushed")

    def test_other_rules_look_at_every_output(self):
        """dv, which comes first, is right."""
        done = run("verify", "attention_backward sq=9 skv=17 d=8 seed=3", "--candidate",
                   "mutant:grad.scale_missing_dq")
        self.assertEqual(done.code, 1, done.out)
        self.assertIn("other rules: allclose fails, nmse fails", done.out)

    def test_interrupt(self):
        cases = self.path("many.cases", "".join(
            f"attention_forward sq=5 skv=9 d=8 seed={n}\n" for n in range(70, 90)))
        out = self.path("out.ndjson")
        child = program.hold(self, "verify", "--cases", cases, "--json", out,
                             word="seed=77")
        child.send_signal(signal.SIGINT)
        # Where it is answered after all, the run ends behind that case.
        self.path("go", "")
        text, _ = child.communicate()
        self.assertEqual(child.returncode, 130, text)
        self.assertIn("interrupted", text)
        with open(out, encoding="utf-8") as file:
            total = summary(file.read())
        self.assertTrue(total["interrupted"])
        self.assertGreater(total["not_run"], 0)


class Files(program.TestCase):

    def test_the_right_outputs_pass(self):
        folder, _ = self.export(SMALL)
        done = self.judge_files(folder, SMALL, "--json", "-")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertEqual(events(done.out)[1]["executed"]["backend"], "files")

    def finding(self, folder, tensors, case=SMALL, profile="exact-f32"):
        self.write_outputs(folder, tensors)
        done = run("verify", case, "--candidate", "files:" + folder,
                   "--profile", profile, "--json", "-")
        self.assertEqual(done.code, 1, done.out + done.err)
        findings = [e for e in events(done.out) if e["kind"] == "finding"]
        self.assertTrue(findings)
        return findings[0], done

    def test_one_flipped_bit_is_named(self):
        folder, tensors = self.export(SMALL)
        # o [1, 2, 5, 8]: h=1 i=3 c=6, lowest bit.
        at = ((1 * 5 + 3) * 8 + 6) * 4
        tensors["o"][2][at] ^= 1
        finding, done = self.finding(folder, tensors)
        self.assertEqual(finding["tier"], "bits")
        self.assertEqual(finding["check"], "o")
        first = finding["comparison"]["first"]
        self.assertEqual(first["index"], {"b": 0, "h": 1, "i": 3, "c": 6})
        self.assertEqual(first["ulp"], 1)
        self.assertEqual(finding["comparison"]["over"], 1)
        self.assertIn("[b=0 h=1 i=3 c=6]", done.err)
        self.assertIn("replay: lockstep verify '", done.err)

    def test_every_tensor_and_both_ends(self):
        for name, at in [("o", 0), ("o", 319), ("lse", 0), ("lse", 39)]:
            with self.subTest(name=name, at=at):
                folder, tensors = self.export(SMALL, f"{name}{at}")
                tensors[name][2][at] ^= 1
                finding, _ = self.finding(folder, tensors)
                self.assertEqual(finding["check"], name)

    def test_nan_holes(self):
        folder, tensors = self.export(SMALL)
        tensors["o"][2][40:44] = b"\x00\x00\xc0\x7f"
        finding, _ = self.finding(folder, tensors)
        self.assertEqual(finding["comparison"]["first"]["class"],
                         "nan_produced")

    def test_negative_zero_and_infinity(self):
        case = SMALL + " valid_q=3"  # rows 3 and 4 are empty: o +0, lse -inf
        folder, tensors = self.export(case)
        tensors["o"][2][3 * 32:3 * 32 + 4] = b"\x00\x00\x00\x80"
        finding, _ = self.finding(folder, tensors, case)
        self.assertEqual(finding["comparison"]["first"]["class"],
                         "zero_sign")
        folder, tensors = self.export(case, "inf")
        tensors["lse"][2][12:16] = b"\x00\x00\x80\x7f"
        finding, _ = self.finding(folder, tensors, case)
        self.assertEqual(finding["comparison"]["first"]["class"], "inf_sign")

    def test_shape_and_type(self):
        folder, tensors = self.export(SMALL)
        kind, _, data = tensors["o"]
        for wrong in [(kind, [1, 2, 8, 5], data), (kind, [1, 10, 8], data),
                      ("BF16", [1, 2, 5, 8], data[:160]),
                      ("I32", [1, 2, 5, 8], data),
                      (kind, [1, 2, 4, 8], data[:256])]:
            with self.subTest(wrong=wrong[:2]):
                finding, _ = self.finding(
                    folder, {"o": wrong, "lse": tensors["lse"]})
                self.assertIn("expected F32 [1, 2, 5, 8]",
                              finding["message"])

    def test_bf16(self):
        case = SMALL.replace("d=8", "d=8 lane=bf16 p=bf16")
        folder, tensors = self.export(case)
        self.assertEqual(tensors["o"][0], "BF16")
        tensors["o"][2][3] ^= 1
        finding, _ = self.finding(folder, tensors, case, "exact-bf16")
        self.assertEqual(finding["comparison"]["first"]["index"]["c"], 1)

    def test_several_cases_are_numbered(self):
        other = SMALL.replace("seed=3", "seed=4")
        folder = self.path("all")
        done = run("export", SMALL, other, "--minimal", "--with-expected", "--out",
                   folder)
        self.assertEqual(done.code, 0, done.err)
        for n in ("1", "2"):
            inner = os.path.join(folder, n)
            tensors, _ = program.read_safetensors(
                os.path.join(inner, "expected.safetensors"))
            if n == "2":
                tensors["lse"][2][0] ^= 1
            self.write_outputs(inner, tensors)
        done = run("verify", SMALL, other, "--candidate", "files:" + folder,
                   "--profile", "exact-f32", "--json", "-")
        self.assertEqual(done.code, 1)
        verdicts = [e["verdict"] for e in events(done.out)
                    if e["kind"] == "case"]
        self.assertEqual(verdicts, ["pass", "fail"])

    def test_expected_is_not_taken_for_outputs(self):
        folder, _ = self.export(SMALL)
        os.remove(os.path.join(folder, "outputs.safetensors"))
        self.assertAnswerBroken(self.judge_files(folder), "outputs.safetensors")


class Execution(program.TestCase):

    def test_what_was_asked_and_what_ran(self):
        done = run("verify", SMALL, "--candidate",
                   "builtin:optimized,threads=2", "--json", "-",
                   "--require-executed")
        case = events(done.out)[1]
        supported = events(done.out)[0]["environment"]["targets"]["supported"]
        if supported:
            self.assertEqual(done.code, 0, done.out)
            self.assertTrue(case["executed"]["as_requested"])
            self.assertEqual(case["executed"]["target"], supported[0])
            self.assertEqual(sorted(case["executed"]["targets"]),
                             sorted(supported))
            here = events(done.out)[0]["environment"]["targets"]
            self.assertEqual(case["executed"]["targets_not_run"],
                             here["not_run"])
            self.assertEqual(sorted(supported + here["not_run"]),
                             sorted(here["compiled"]))
            # People are told, too.
            text = run("verify", SMALL).out
            line = "not run   " + ", ".join(here["not_run"])
            self.assertEqual(line in text, bool(here["not_run"]), text)
            self.assertNotIn("not run   ", run(
                "verify", SMALL, "--candidate",
                "builtin:optimized@" + supported[0]).out)
        else:
            self.assertEqual(done.code, 1)
            self.assertEqual(case["executed"]["backend"], "reference")
            self.assertNotEqual(case["executed"]["fallback_reason"], "")


if __name__ == "__main__":
    unittest.main()
