"""`lockstep explain`, and the causes at the end of a failing case."""

import json
import os
import pathlib
import unittest

import program
from program import SMALL, events, run

LINE = "attention_forward hq=2 sq=24 skv=24 d=8 mask=causal"


def keep_outputs(path, names):
    """The file with these tensors alone, and without the case that it names."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, kept, body = json.loads(data[8:8 + size]), {}, b""
    for name in names:
        begin, end = header[name]["data_offsets"]
        kept[name] = header[name] | {"data_offsets": [len(body), len(body) + end - begin]}
        body += data[8 + size + begin:8 + size + end]
    text = json.dumps(kept).encode()
    text += b" " * (-len(text) % 8)
    answer = pathlib.Path(path).with_name("answer.safetensors")
    answer.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return str(answer)


def first_cause(done):
    return next((line for line in done.out.splitlines() if line.startswith("      cause: ")), "")


class Explain(program.TestCase):

    def test_a_bug_is_named(self):
        done = run("explain", LINE, "--candidate", "mutant:attn.causal_strict,base=cpu")
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("1     a query does not see its own key (j < i for j <= i): "
                      "behaves like attn.causal_strict, ", done.out)
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
        done = run("explain", line, "--candidate", "mutant:attn.window_left_plus_one",
                   "--seconds", "3600")
        self.assertEqual(done.code, 1, done.err)
        self.assertNotIn("sq=512 skv=512", done.out)
        self.assertIn("1     each query sees one key too many to the left (100 for "
                      "99): behaves like attn.window_left_plus_one", done.out)

    # On one key a dropped key is four bugs at once: what is replayed is the largest
    # of the smaller cases, not the smallest.
    def test_a_large_case_stays_large_enough_to_tell(self):
        line = ("attention_forward hq=4 hkv=2 sq=16 skv=4096 d=64 cap=30 "
                "sinklogit=const:1 mask=causal align=br kv_seg=runs:1000,3096 "
                "q_seg=ids:1*16")
        done = run("explain", line, "--candidate", "mutant:attn.drop_last_key",
                   "--seconds", "3600", "--json", "-")
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
        self.assertIn("which already says what is wrong", done.err)


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

    # What fails where is told first: a cause takes time to find.
    def test_a_large_case_is_named(self):
        line = "attention_forward hq=4 hkv=2 sq=16 skv=4096 d=16 "
        done = run("verify", line + "mask=causal&window:1000,0 align=br",
                   "--candidate", "mutant:attn.window_left_plus_one,base=cpu",
                   "--explain-budget", "60")
        self.assertEqual(done.code, 1, done.err)
        lines = done.out.splitlines()
        self.assertTrue(lines[0].startswith("FAIL  attention_forward"), lines[0])
        self.assertTrue(lines[1].startswith("      envelope (o): "), lines[1])
        self.assertIn("cause: each query sees one key too many to the left (1001 for "
                      "1000): behaves like attn.window_left_plus_one, ", first_cause(done))

    def test_no_time_looks_for_nothing(self):
        done = run("verify", LINE, "--candidate", "mutant:attn.causal_strict",
                   "--explain-budget", "0")
        self.assertEqual(done.code, 1, done.err)
        self.assertNotIn("cause:", done.out)

    def test_a_large_scan_is_made_small(self):
        done = run("verify", "mamba3_scan t=512 h=8 g=2 n=32 p=16", "--candidate",
                   "mutant:scan.skip_missing", "--explain-budget", "60")
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("behaves like scan.skip_missing", first_cause(done))

    def test_every_output_says_it_first(self):
        sentence = ("a query does not see its own key (j < i for j <= i): behaves like "
                    "attn.causal_strict, the same bits; indistinguishable here from "
                    "attn.drop_last_key")
        junit, html = (self.path(name) for name in ("j.xml", "p.html"))
        done = run("verify", LINE, "--candidate", "mutant:attn.causal_strict",
                   "--junit", junit, "--html", html, "--annotations", "github",
                   "--json", "-")
        self.assertEqual(done.code, 1, done.err)
        page = pathlib.Path(html).read_text(encoding="utf-8")
        escaped = sentence.replace("<", "&lt;")
        order = [page.index(part) for part in (
            f'<p class="cause">{escaped}', "<h3>Where</h3>", "<h3>Found</h3>",
            "<h3>Facts</h3>")]
        self.assertEqual(order, sorted(order))
        self.assertIn(f'message="{escaped}"',
                      pathlib.Path(junit).read_text(encoding="utf-8"))
        (finding,) = [event for event in events(done.out)
                      if event["kind"] == "finding" and event["check"] == "o"]
        self.assertEqual(finding["attribution"][0]["sentence"], sentence)

    def test_an_annotation_begins_with_it(self):
        done = run("verify", LINE, "--candidate", "mutant:attn.causal_strict",
                   "--annotations", "github")
        (line,) = [one for one in done.out.splitlines() if one.startswith("::error")]
        self.assertIn("::a query does not see its own key (j < i for j <= i): ", line)
        self.assertIn("%0Ao differs in 384 of 384 elements, max ", line)

    # The answer to a window that is one key wider is that of a bug; it is fixed, so
    # that no smaller case can be asked for.
    def test_answers_from_files_are_explained(self):
        line = "attention_forward hq=4 sq=16 skv=2048 d=16 align=br mask=causal&window:"
        for outputs in (["o", "lse"], ["o"]):
            folder = self.path("case")
            exported = run("export", line + "41,0", "--out", folder, "--minimal",
                           "--with-expected")
            self.assertEqual(exported.code, 0, exported.err)
            answer = keep_outputs(folder + "/expected.safetensors", outputs)
            profile = ("exact-f32" if "lse" in outputs
                       else "base = cpu-f32; name = mine; lse = none")
            done = run("verify", line + "40,0", "--candidate", "files:" + answer,
                       "--profile", profile, "--explain-budget", "60")
            self.assertEqual(done.code, 1, done.err)
            sentence = "(41 for 40): behaves like attn.window_left_plus_one"
            self.assertIn(sentence, first_cause(done))
            explained = run("explain", line + "40,0", "--candidate", "files:" + answer,
                            "--profile", profile)
            self.assertEqual(explained.code, 1, explained.err)
            self.assertIn(sentence, explained.out.splitlines()[1])

    def test_files_without_an_answer_are_not_explained(self):
        folder = self.path("empty")
        os.mkdir(folder)
        done = run("explain", LINE, "--candidate", "files:" + folder, "--profile",
                   "exact-f32")
        self.assertEqual(done.code, 3, done.out)
        self.assertIn("outputs.safetensors", done.err)

    def test_a_kernel_of_one_real_head_is_explained(self):
        done = run("verify", "attention_forward sq=48 skv=48 d=64 mask=causal",
                   "--candidate", "mutant:attn.causal_strict,base=cpu")
        self.assertIn("(j < i for j <= i): behaves like attn.causal_strict", done.out)

    def test_a_passing_case_has_none(self):
        self.assertNotIn("cause:", run("verify", SMALL).out)


if __name__ == "__main__":
    unittest.main()
