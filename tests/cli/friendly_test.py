#!/usr/bin/env python3
"""What spares a person a look into the manual: near names, several ways to say where
cases come from, arguments that fit what is asked."""

import json
import os
import shutil
import struct
import subprocess
import unittest

import program
from program import SMALL, run

SCAN = "mamba3_scan t=9 n=4 p=2"
TABLES = "block_plan sq=64 skv=64 mask=causal&window:20,0 bq=8 bk=8"


def piped(text, *arguments):
    """Runs `lockstep ARGUMENTS` with `text` on stdin."""
    return subprocess.run([os.path.abspath(program.PROGRAM), *arguments], input=text,
                          capture_output=True, text=True, check=False,
                          cwd=program.SOURCE)


class NamesTest(program.TestCase):
    def test_unknown_names_have_a_neighbour(self):
        verify = ("verify", SMALL)
        for arguments, near in (
                (verify + ("--candidate", "mutant:attn.causal_pls_one"),
                 "attn.causal_plus_one"),
                (verify + ("--candidate", "mutant:plan.diagonal_ful"),
                 "plan.diagonal_full"),
                (verify + ("--candidate", "mutant:scan.step_k_unroted"),
                 "scan.step_k_unrotated"),
                (verify + ("--candidate", "variant:flsh"), "flash"),
                (verify + ("--candidate", "variant:scan-turn"), "scan-turns"),
                (verify + ("--candidate", "muttant:attn.x"), "mutant:"),
                (verify + ("--candidate", "builtin:optimised@AVX2"),
                 "builtin:optimized"),
                (verify + ("--candidate", "builtin:optimized@AVX22"), "AVX2"),
                (verify + ("--candidate", "variant:flash", "--profile", "flash-bf61"),
                 "flash-bf16"),
                (("verify", "atention_forward sq=1 skv=1 d=1"), "attention_forward"),
                (("verify", SMALL + " fill=probe:selct"), "select"),
                (("fuzz", "block_pln"), "block_plan"),
                (("list", "mutnts"), "mutants")):
            done = run(*arguments)
            self.assertUsage(done, f"nearest is '{near}'")

    def test_variants_are_listed(self):
        names = [line.split("  ")[0] for line in run("list", "variants").out.splitlines()]
        self.assertIn("flash", names)
        self.assertIn("scan-turns", names)


class CasesTest(program.TestCase):
    def test_cases_from_stdin(self):
        done = piped(f"# two\n{SMALL}\n{SCAN}\n", "verify", "--cases", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 cases: 2 pass", done.stdout)
        done = piped("nonsense\n", "verify", "--cases", "-")
        self.assertEqual(done.returncode, 2)
        self.assertIn("stdin:1:", done.stderr)
        done = piped(SMALL + "\n", "replay", "-")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_fuzz_wrote_is_replayed(self):
        found = self.path("found.ndjson")
        for mutant in ("attn.causal_plus_one", "scan.step_k_unrotated",
                       "plan.diagonal_full"):
            done = run("fuzz", "--candidate", "mutant:" + mutant, "--json", found)
            self.assertEqual(done.code, 1, done.err)
            again = run("replay", found)
            self.assertEqual(again.code, 1, again.err)
            self.assertIn("1 fail", again.out)
        # A finding of an earlier release names no candidate.
        with open(found, encoding="utf-8") as file:
            event = json.loads(file.readline())
        del event["candidate"]
        old = self.path("old.ndjson", json.dumps(event) + "\n")
        self.assertUsage(run("replay", old), "give --candidate")
        self.assertEqual(
            run("replay", old, "--candidate", "mutant:plan.diagonal_full").code, 1)

    def test_the_candidate_says_what_fuzz_draws(self):
        for candidate, op in (("mutant:plan.diagonal_full", "block_plan"),
                              ("mutant:scan.step_k_unrotated", "mamba3_step"),
                              ("variant:scan-turns", "mamba3_scan"),
                              ("variant:cpu", "attention_forward"),
                              ("builtin:reference", "attention_forward")):
            done = run("fuzz", "--candidate", candidate, "--budget", "1cases", "--json",
                       "-")
            self.assertEqual(program.summary(done.out)["op"], op, done.err)

    def test_arguments_that_an_op_lacks(self):
        for argument, given in (("chunk=4", SMALL), ("tile=16x16", SCAN)):
            candidate = "builtin:optimized," + argument
            done = run("verify", SMALL, SCAN, "--candidate", candidate)
            self.assertEqual(done.code, 0, done.err)
            self.assertIn("2 pass", done.out)
            op = given.split()[0]
            self.assertIn(f"note: candidate {candidate}: {op} ", done.err)
            # Where no case has a use for it, it is a mistake.
            done = run("verify", given, "--candidate", candidate)
            self.assertUsage(done, argument.split("=", maxsplit=1)[0])

    def test_color(self):
        wrong = ("verify", SMALL, "--candidate", "mutant:attn.causal_plus_one")
        for when, colored in (("always", True), ("never", False), ("auto", False)):
            done = run(*wrong, "--color", when)
            self.assertEqual("\x1b[" in done.out, colored, when)
        self.assertUsage(run(*wrong, "--color", "sometimes"), "always")

    def test_plan_takes_several(self):
        cases = self.path("my.cases", f"{TABLES}\n{SCAN}\n{SMALL} expect=pass\n")
        done = run("plan", "--cases", cases, TABLES, "--tile", "8x8")
        self.assertEqual(done.code, 2)  # block_plan says its tiles itself
        self.assertIn(TABLES, done.err)
        done = run("plan", "--cases", cases, TABLES)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("1 case is left out", done.err)
        self.assertEqual(done.out.count("case      "), 3)
        done = run("plan", "--cases", cases, "--json", "-")
        self.assertEqual([one["tiles"] for one in json.loads(done.out)], [64, 1])
        self.assertUsage(run("plan", TABLES, TABLES, "--svg", self.path("x.svg")),
                         "--svg draws one case")


class AsideTest(program.TestCase):
    def test_export_leaves_refused_cases_aside(self):
        cases = self.path("my.cases", "\n".join(
            [SMALL, SMALL + " expect=refuse",
             "attention_forward sq=0 skv=1 d=1 expect=refuse", SMALL + "4"]) + "\n")
        out = self.path("out")
        done = run("export", "--cases", cases, "--minimal", "--with-expected",
                   "--out", out)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("2 of 4 cases expect to be refused", done.err)
        self.assertEqual(sorted(os.listdir(out)), ["1", "4"])
        for folder in ("1", "4"):
            shutil.copy(os.path.join(out, folder, "expected.safetensors"),
                        os.path.join(out, folder, "outputs.safetensors"))
        # `files:` counts the same way; one of the refused is not refused.
        done = run("verify", "--cases", cases, "--candidate", "files:" + out,
                   "--profile", "exact-f32")
        self.assertIn("3 pass, 1 fail", done.out, done.err)

    def test_every_shipped_file_is_exported(self):
        for name in ("block_plan", "smoke"):
            done = run("export", "--cases", f"data/cases/{name}.cases", "--out",
                       self.path(name))
            self.assertEqual(done.code, 0, done.err)

    def test_probes_that_do_not_apply(self):
        cases = self.path("my.cases", SMALL + "\n"
                          "attention_forward sq=8 skv=8 d=16 cap=2 fill=probe:select\n")
        done = run("verify", "--cases", cases)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("1 case: 1 pass", done.out)
        self.assertIn("note: ", done.err)
        self.assertIn(cases + ":2: fill probe:select", done.err)
        # Typed by hand, it is a mistake.
        with open(cases, encoding="utf-8") as file:
            line = file.read().splitlines()[1]
        self.assertUsage(run("verify", line), "probe:select")


class NpyCase(program.TestCase):
    """Arrays as NumPy saves them, written here by hand."""

    def write(self, name, descr, shape, data, fortran="False"):
        text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
        text += " " * (-(len(text) + 11) % 64) + "\n"
        header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
        return self.path(name, header + bytes(data))


class SegmentFileTest(NpyCase):
    """Segment ids of one's own, without q, k and v."""

    LIKE = "attention_forward sq=8 skv=8 d=4 mask=causal "

    def digest(self, q_seg, kv_seg):
        done = run("plan", self.LIKE + f"q_seg={q_seg} kv_seg={kv_seg}", "--tile",
                   "2x2", "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)["digest"]

    def test_ids_alone(self):
        ids = [7] * 5 + [-3] * 3
        wide = self.write("doc_ids.npy", "<i8", "(8,)", struct.pack("<8q", *ids))
        both = self.path("ids.safetensors")
        program.write_safetensors(both, {
            name: ("I32", [1, 8], struct.pack("<8i", *ids))
            for name in ("q_seg", "kv_seg")})
        right = self.digest("runs:5,3", "runs:5,3")
        self.assertNotEqual(right, self.digest("runs:4,4", "runs:4,4"))
        for file in (wide, both):
            self.assertEqual(self.digest("file:" + file, "file:" + file), right)
        self.assertEqual(self.digest("file:" + both, "ids:7*5,-3*3"), right)
        line = self.LIKE + f"q_seg=file:{wide} kv_seg=file:{wide}"
        done = run("verify", line)
        self.assertEqual(done.code, 0, done.err)
        # Pinned, the file is the one meant or none.
        done = run("verify", line.replace("npy kv", "npy#" + "0" * 32 + " kv"))
        self.assertUsage(done, "have the digest")
        tables = (f"block_plan sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=file:{wide} "
                  f"kv_seg=file:{wide}")
        self.assertEqual(run("verify", tables).code, 0)

    def test_a_row_for_each_batch_row(self):
        rows = [[0] * 5 + [1] * 3, [0] * 2 + [1] * 6]
        file = self.write("ids.npy", "<i4", "(2, 8)",
                          struct.pack("<16i", *rows[0], *rows[1]))
        self.LIKE = self.LIKE.replace("sq=8", "b=2 sq=8", 1)
        runs = "[runs:5,3;runs:2,6]"
        self.assertEqual(self.digest("file:" + file, "file:" + file),
                         self.digest(runs, runs))

    def test_what_is_refused(self):
        for descr, shape, data, word in (
                ("<i4", "(7,)", bytes(28), "I32 [7]"),
                ("<f4", "(8,)", bytes(32), "want tensor 'q_seg'"),
                ("<i8", "(8,)", struct.pack("<8q", *([1 << 40] * 8)),
                 "does not fit 32 bits")):
            file = self.write("ids.npy", descr, shape, data)
            self.assertUsage(
                run("verify", self.LIKE + f"q_seg=file:{file} kv_seg=file:{file}"), word)
        self.assertUsage(run("verify", self.LIKE + "q_seg=file kv_seg=file"),
                         "q_seg=file:PATH")


class NpyTest(NpyCase):
    """Outputs and masks."""

    def answer(self):
        folder, tensors = self.export(SMALL)
        os.remove(os.path.join(folder, "outputs.safetensors"))
        return folder, tensors

    def test_outputs(self):
        _, tensors = self.answer()
        (_, o_shape, o), (_, lse_shape, lse) = tensors["o"], tensors["lse"]
        self.write("case/o.npy", "<f4", tuple(o_shape), o)
        self.write("case/lse.npy", "<f4", tuple(lse_shape[1:]), lse)  # batch of one
        done = self.judge_files(self.path("case"))
        self.assertEqual(done.code, 0, done.err + done.out)
        self.assertIn("1 pass", done.out)
        self.write("case/lse.npy", "<f8", tuple(lse_shape), lse * 2)
        done = self.judge_files(self.path("case"))
        self.assertEqual(done.code, 1)
        self.assertIn("produced F64", done.out)
        self.assertIn("write this output as f32", done.out)
        os.remove(self.path("case/lse.npy"))
        self.assertAnswerBroken(self.judge_files(self.path("case")),
                                "no tensor 'lse'", "it has: o")

    def test_bad_files(self):
        _, tensors = self.answer()
        (_, shape, o) = tensors["o"]
        for descr, given, data, order, word in (
                ("<f4", tuple(shape), o[:-1], "False", "bytes of elements"),
                (">f4", tuple(shape), o, "False", "elements of type '>f4'"),
                ("<f4", tuple(shape), o, "True", "ascontiguousarray"),
                ("<f4", "(1, -2)", o, "False", "shape"),
                ("<f4", "(99999999999, 99999999999)", o, "False", "bytes of elements"),
                ("<f4", "(1, 2", o, "False", "shape")):
            self.write("case/o.npy", descr, given, data, order)
            self.assertAnswerBroken(self.judge_files(self.path("case")), "o.npy",
                                    word)
        self.path("case/o.npy", b"\x93NUMPY\x01\x00\xff\xff")
        self.assertAnswerBroken(self.judge_files(self.path("case")), "o.npy")

    def test_a_batch_of_one_may_be_left_out(self):
        folder, tensors = self.export(SMALL)
        short = {name: (dtype, shape[1:], data)
                 for name, (dtype, shape, data) in tensors.items()}
        self.write_outputs(folder, short)
        self.assertEqual(self.judge_files(folder).code, 0)

    def test_a_mask(self):
        self.write("dense_mask.npy", "|b1", (1, 1, 5, 9), b"\1" * 45)
        done = run("verify", "attention_forward sq=5 skv=9 d=8 mask=dense:" +
                   self.path("dense_mask.npy"))
        self.assertEqual(done.code, 0, done.err)


if __name__ == "__main__":
    unittest.main()
