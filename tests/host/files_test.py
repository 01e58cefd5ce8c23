#!/usr/bin/env python3
"""Kernels that run elsewhere: cases exported as calls, answered by NumPy in
float64, and judged as a kernel in a process is."""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import program  # noqa: E402
import schema  # noqa: E402
from program import events, run, summary  # noqa: E402

KERNELS = os.path.join(HERE, "numpy_kernels.py")
SMALL = "attention_forward hq=4 hkv=2 sq=9 skv=20 d=8 cap=30 mask=causal align=br"
PLAN = "block_plan sq=61 skv=64 bq=8 bk=8 mask=causal&window:20,0 dialect=block_mask"
SPLIT = "mamba3_scan t=20 h=4 n=8 p=4 carry=yes"
GRADIENTS = "mamba3_scan_backward t=20 h=4 n=8 p=4 cu=0,8,8,20 carry=yes dcarry=yes"
# Lines of every op, and a part of the shipped files for kernels of others.
OPS = [(SMALL, "cpu-f32"),
       (SMALL + " lane=bf16", "flash-bf16"),
       (SMALL + " lane=f16", "flash-f16"),
       ("attention_backward hq=4 hkv=2 sq=9 skv=20 d=8 cap=30 mask=causal align=br "
        "sinklogit=normal:1 dlse=normal:1", "cpu-f32"),
       ("attention_merge s=5 h=2 n=6 dv=7 empty=0.3 blank=0.2 base=2 "
        "fill=normal:1+poison:masked", "cpu-f32"),
       (SPLIT, "scan-f32"),
       (GRADIENTS, "scan-f32"),
       ("mamba3_scan_backward b=2 t=9 h=4 g=2 n=8 p=3 variant=mimo r=2 s=3 gate=yes reduce=yes "
        "seg=runs:4,5 carry=yes dcarry=yes", "scan-f32"),
       ("mamba3_scan_backward t=9 h=2 n=8 p=6 s=0 norm=1e-3 skip=no bias=no", "scan-f32"),
       ("mamba3_step t=5 n=8 p=4", "scan-f32"),
       ("ssd_scan t=20 h=4 g=2 n=8 p=4 cu=0,7,20 carry=yes gate=yes", "scan-f32"),
       (PLAN, "exact-f32")]
SHIPPED = [("foreign-attention-f32", "cpu-f32"),
           ("foreign-attention-bf16", "flash-bf16"),
           ("foreign-attention-backward-f32", "cpu-f32"),
           ("foreign-scan", "scan-chunked")]
EVERY = 19  # line of a shipped file; LOCKSTEP_ALL_LINES=1: every one


def lines_of(name):
    path = os.path.join(program.SOURCE, "data/cases", name + ".cases")
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file
                 if line.strip() and not line.startswith("#")]
    return lines if os.environ.get("LOCKSTEP_ALL_LINES") else lines[::EVERY]


class CallsTest(program.TestCase):
    def exported(self, *cases, profile="cpu-f32", name="calls"):
        folder = self.path(name)
        done = run("export", *cases, "--out", folder, "--candidate-profile", profile)
        self.assertEqual(done.code, 0, done.err)
        return folder

    def answer(self, folder, *bug, code=0):
        done = subprocess.run([sys.executable, KERNELS, folder, *bug], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def judge(self, folder, *cases, profile="cpu-f32", code=0):
        done = run("verify", *cases, "--candidate", "files:" + folder, "--profile",
                   profile)
        self.assertEqual(done.code, code, done.out + done.err)
        return done

    def answered(self, *cases, profile="cpu-f32"):
        folder = self.exported(*cases, profile=profile)
        self.answer(folder)
        return folder

    def calls(self, folder):
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            return json.load(file)["calls"]

    def outputs(self, folder, what):
        """Path of the answer to the first call that is for that."""
        number = next(c["call"] for c in self.calls(folder) if c["what"] == what)
        return os.path.join(folder, "calls", str(number), "outputs.safetensors")


class RightTest(CallsTest):
    def test_every_op(self):
        for line, profile in OPS:
            with self.subTest(line):
                shutil.rmtree(self.path("calls"), ignore_errors=True)
                folder = self.answered(line, profile=profile)
                done = self.judge(folder, line, profile=profile)
                self.assertIn("1 case: 1 pass", done.out)

    def test_the_profile_may_be_any(self):
        folder = self.path("any")
        self.assertEqual(run("export", SMALL, "--out", folder).code, 0)
        self.answer(folder)
        for profile in ("cpu-f32", "scan-f32"):
            done = run("verify", SMALL, "--candidate", "files:" + folder, "--profile",
                       profile)
            self.assertEqual(done.code, 0 if profile == "cpu-f32" else 5, done.out)

    def test_shipped_cases(self):
        for name, profile in SHIPPED:
            with self.subTest(name):
                cases = self.path(name, "".join(lines_of(name)))
                folder = self.exported("--cases", cases, profile=profile, name=name + ".d")
                self.answer(folder)
                done = self.judge(folder, "--cases", cases, profile=profile)
                self.assertNotIn("untrusted", done.out)
                self.assertIn(" pass", done.out)

    def test_equal_inputs_lie_there_once(self):
        folder = self.exported(SMALL)
        files = [os.path.join(folder, "calls", str(c["call"]), "inputs.safetensors")
                 for c in self.calls(folder)]
        same = {}
        for file in files:
            with open(file, "rb") as opened:
                same.setdefault(opened.read(), set()).add(os.stat(file).st_ino)
        self.assertLess(len(same), len(files))
        self.assertEqual({len(nodes) for nodes in same.values()}, {1})

    def test_a_mask_of_one_head_counts_one_head(self):
        # 2^26 pairs are the most; all heads of the first case see the same.
        one = "attention_forward hq=1024 hkv=1 sq=128 skv=1024 d=1 mask=causal"
        for line, there in ((one, True), (one + " mask.h1=full", False)):
            folder = self.path("mask" + str(there))
            done = run("export", line, "--out", folder, "--candidate-profile", "cpu-f32",
                       "--draws", "0")
            self.assertEqual(done.code, 0, done.err)
            number = next(c["call"] for c in self.calls(folder) if c["what"] == "the case")
            with open(os.path.join(folder, "calls", str(number), "call.json"),
                      encoding="utf-8") as file:
                inputs = json.load(file)["inputs"]
            self.assertEqual("mask.dense" in inputs, there)
            if there:
                self.assertEqual(inputs["mask.dense"]["shape"], [1, 1, 128, 1024])

    def test_glue(self):
        with open(KERNELS, encoding="utf-8") as file:
            glue = file.read().split("# The glue", 1)[1].splitlines()[1:]
        self.assertLessEqual(len([line for line in glue if line.strip()]), 15)

    def test_no_expected_answers_unless_asked_for(self):
        folder = self.exported(SMALL)
        names = {name for _, _, files in os.walk(folder) for name in files}
        self.assertEqual(names, {"index.json", "lockstep_calls.py", "call.json",
                                 "inputs.safetensors"})
        with_them = self.path("with")
        done = run("export", SMALL, PLAN, "--with-expected", "--out", with_them)
        self.assertEqual(done.code, 0, done.err)
        for call in self.calls(with_them):
            place = os.path.join(with_them, "calls", str(call["call"]))
            self.assertEqual(os.path.exists(os.path.join(place, "expected.safetensors")),
                             call["what"] != "other contents", call)


class WrongTest(CallsTest):
    def test_planted_faults(self):
        for bug, line, profile, check in (
                ("drop_key", SMALL, "cpu-f32", "(o)"),
                ("drop_carry", SPLIT, "scan-f32", "(y)"),
                ("drop_carry", GRADIENTS, "scan-f32", "(dinit_h)"),
                ("drop_dcarry", GRADIENTS, "scan-f32", "(dv)"),
                ("twice_other", SMALL, "cpu-f32", "(repeat)")):
            with self.subTest(bug, line=line):
                shutil.rmtree(self.path("calls"), ignore_errors=True)
                folder = self.exported(line, profile=profile)
                self.answer(folder, bug)
                done = self.judge(folder, line, profile=profile, code=1)
                self.assertIn(check, done.out)
                # The one folder holds all that a replay needs.
                self.assertIn(f"--candidate 'files:{folder}'", done.out)

    def test_a_carry_that_is_not_taken_over(self):
        # Without a carry of its own only the law's second call starts from one.
        line = "mamba3_scan t=20 h=4 n=8 p=4"
        folder = self.exported(line, profile="scan-f32")
        self.assertTrue(any(c["what"] == "law split" for c in self.calls(folder)))
        self.answer(folder, "drop_carry")
        done = self.judge(folder, line, profile="scan-f32", code=1)
        self.assertIn("law_split", done.out)

    def test_a_finding_is_replayed(self):
        folder = self.exported(SMALL, SPLIT)
        self.answer(folder, "drop_key")
        found = self.path("found")
        done = run("verify", SMALL, "--candidate", "files:" + folder, "--profile",
                   "cpu-f32", "--json", found)
        self.assertEqual(done.code, 1, done.out)
        again = run("replay", found)
        self.assertEqual(again.code, 1, again.out + again.err)


class AbsentTest(CallsTest):
    """What is not there, or not whole."""

    def test_no_answer_to_the_case_is_an_error_of_it_alone(self):
        other = SMALL + " seed=5"
        folder = self.answered(SMALL, other)
        os.remove(self.outputs(folder, "the case"))
        junit = self.path("junit.xml")
        done = run("verify", SMALL, other, "--candidate", "files:" + folder,
                   "--profile", "cpu-f32", "--junit", junit)
        self.assertEqual(done.code, 3, done.out + done.err)
        self.assertIn("2 cases: 1 pass, 1 error", done.out)
        with open(junit, encoding="utf-8") as file:
            self.assertIn("<error", file.read())

    def test_torn_answers(self):
        folder = self.answered(SMALL)
        for what in ("the case", "again", "probe cancel", "law heads"):
            with self.subTest(what):
                path = self.outputs(folder, what)
                with open(path, "rb") as file:
                    whole = file.read()
                with open(path, "wb") as file:
                    file.write(whole[:-1])
                done = self.judge(folder, SMALL, code=3)
                self.assertIn("(answer)", done.out)
                with open(path, "wb") as file:
                    file.write(whole)
        self.judge(folder, SMALL)

    def test_absent_answers_are_named_and_prove_nothing(self):
        folder = self.answered(SMALL)
        for what, check in (("again", "repeat"), ("other contents", "contents"),
                            ("probe cancel", "probe cancel"), ("law heads", "law_heads"),
                            ("draw 2", "draw")):
            with self.subTest(what):
                path = self.outputs(folder, what)
                os.rename(path, path + ".away")
                receipt = self.path("r.json")
                done = run("verify", SMALL, "--candidate", "files:" + folder,
                           "--profile", "cpu-f32", "--receipt", receipt)
                self.assertEqual(done.code, 5, done.out + done.err)
                self.assertIn(f"no answer to {'a ' if what == 'draw 2' else ''}{check}",
                              done.out)
                with open(receipt, encoding="utf-8") as file:
                    untried = json.load(file)["cases"][0]["checks"]["untried"]
                self.assertEqual([u["check"] for u in untried["unanswered"]], [check])
                self.assertIn("alignment", untried["checks"])
                os.rename(path + ".away", path)

    def test_draws_are_those_that_were_exported(self):
        folder = self.answered(SMALL)
        self.assertIn("draws     2: 2 pass", self.judge(folder, SMALL).out)
        index = os.path.join(folder, "index.json")
        with open(index, encoding="utf-8") as file:
            text = file.read()
        with open(index, "w", encoding="utf-8") as file:  # of an earlier version
            file.write(text.replace(' "draws": 2,\n', ""))
        self.assertNotIn("draws  ", self.judge(folder, SMALL).out)

    def test_a_wrong_answer_behind_an_absent_one_is_found(self):
        folder = self.exported(SMALL)
        self.answer(folder, "drop_key")
        os.remove(self.outputs(folder, "again"))
        os.remove(self.outputs(folder, "probe cancel"))
        self.judge(folder, SMALL, code=1)

    def test_other_cases_and_profiles(self):
        folder = self.answered(SMALL)
        done = self.judge(folder, SMALL + " seed=9", code=3)
        self.assertIn("of other cases", done.out)
        done = self.judge(folder, SMALL, profile=self.path(
            "p", "base = cpu-f32\nname = p\ntanh_rel = 0x1p-11\n"), code=0)

    def test_an_answer_to_another_call(self):
        folder = self.answered(SMALL)
        shutil.copy(self.outputs(folder, "probe cancel"),
                    self.outputs(folder, "the case"))
        done = self.judge(folder, SMALL, code=3)
        self.assertIn("answer to another call", done.out)

    def test_a_call_that_the_kernel_does_not_support(self):
        folder = self.answered(SMALL)
        place = os.path.dirname(self.outputs(folder, "the case"))
        with open(os.path.join(place, "unsupported.txt"), "w", encoding="utf-8") as file:
            file.write("odd lengths")
        done = self.judge(folder, SMALL, code=77)
        self.assertIn("odd lengths", done.out)

    def test_a_kernel_that_raises_answers_the_others(self):
        folder = self.exported(SMALL, PLAN)
        with open(os.path.join(folder, "calls", "2", "call.json"), "w",
                  encoding="utf-8") as file:
            file.write("{")
        done = self.answer(folder, code=1)
        self.assertIn("calls [2] have no answer", done.stderr)
        self.judge(folder, SMALL, PLAN, code=5)

    def test_an_index_that_is_none(self):
        folder = self.answered(SMALL)
        path = os.path.join(folder, "index.json")
        for text, word in (("{", "no index"), ('{"kind":"calls","format":9}', "version"),
                           ('{"kind":"calls","format":1}', "missing"),
                           ('{"kind":"calls","format":1,"profile":"","cases":[],"calls":'
                            '[{"call":-1,"what":"","digest":""}]}', "no number")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = run("verify", SMALL, "--candidate", "files:" + folder, "--profile",
                       "cpu-f32")
            self.assertUsage(done, "index.json", word)

    def test_a_folder_is_not_written_over(self):
        folder = self.exported(SMALL)
        self.assertUsage(run("export", SMALL, "--out", folder), "index.json")

    def test_fuzzing_needs_a_kernel_that_computes(self):
        folder = self.exported(SMALL)
        self.assertUsage(run("fuzz", "--candidate", "files:" + folder, "--profile",
                             "cpu-f32"), "fixed cases")

    def test_events_fit_the_schema(self):
        folder = self.answered(SMALL)
        os.remove(self.outputs(folder, "again"))
        done = run("verify", SMALL, "--candidate", "files:" + folder, "--profile",
                   "cpu-f32", "--json", "-")
        with open(os.path.join(program.SOURCE, "docs/schemas/events.schema.json"),
                  encoding="utf-8") as file:
            rules = json.load(file)
        for event in events(done.out):
            self.assertEqual(schema.problems(event, rules, rules), [], event)
        self.assertEqual(summary(done.out)["untrusted"], 1)


class LackTest(CallsTest):
    def test_a_kernel_without_lse(self):
        folder = self.answered(SMALL)
        for call in self.calls(folder):
            path = os.path.join(folder, "calls", str(call["call"]), "outputs.safetensors")
            tensors, metadata = program.read_safetensors(path)
            program.write_safetensors(path, {"o": tensors["o"]}, metadata)
        self.judge(folder, SMALL, code=3)
        profile = self.path("p", "base = cpu-f32\nname = p\nlse = none\n")
        self.judge(folder, SMALL, profile=profile)


if __name__ == "__main__":
    import unittest
    unittest.main()
