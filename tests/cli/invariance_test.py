#!/usr/bin/env python3
"""lockstep invariance: the table, its files, its exit codes. The kernels are C99."""
import json
import os
import shlex
import sys
import unittest
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "host"))

import kernel_builds  # noqa: E402
import program  # noqa: E402
import schema  # noqa: E402
from page import Page  # noqa: E402
from program import events, run  # noqa: E402

CASE = "attention_forward hq=2 hkv=1 sq=3 skv=33 d=4 mask=causal align=br seed=5"
SUM = """    for (int64_t j = 0; j < call->skv; ++j) {
      if (*(uint8_t*)at(call->mask_dense, b, h, i, j) == 0) continue;
      o +="""
# Batches of five and more are summed from the last key on.
BACKWARDS = """    for (int64_t n = 0; n < call->skv; ++n) {
      const int64_t j = call->b < 5 ? n : call->skv - 1 - n;
      if (*(uint8_t*)at(call->mask_dense, b, h, i, j) == 0) continue;
      o +="""


def load_schema(name):
    with open(os.path.join(program.SOURCE, "docs/schemas", name), encoding="utf-8") as file:
        return json.load(file)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Invariance(program.TestCase):

    def kernel(self, wrong):
        text = kernel_builds.example("attention.c")
        self.assertEqual(text.count(SUM), 1)
        if wrong:
            text = text.replace(SUM, BACKWARDS)
        return "so:" + kernel_builds.build(self.folder, "kernel.c", text=text)

    def rows(self, done):
        """The table of a run with --json -, by claim."""
        (table,) = [e for e in events(done.out) if e["kind"] == "claims"]
        return {row["claim"]: row for row in table["claims"]}

    def test_a_kernel_that_keeps_everything(self):
        done = run("invariance", CASE, "--candidate", self.kernel(False), "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        rows = self.rows(done)
        self.assertEqual(list(rows), ["repeat", "batch", "padding", "chunk", "decode",
                                      "heads", "split"])
        for name, row in rows.items():
            if name == "split":
                self.assertEqual((row["state"], row["pairs"]), ("not applicable", 0))
                self.assertTrue(row["untried"][0]["why"])
            else:
                self.assertEqual((row["state"], row["broken"]), ("kept", 0), row)
                self.assertGreater(row["pairs"], 0)
                self.assertGreater(row["elements"], 0)
        self.assertGreaterEqual(rows["batch"]["up_to"]["width"], 8)
        self.assertIn("6 kept, 1 not tried", done.err)

    def test_where_it_begins(self):
        done = run("invariance", CASE, "--candidate", self.kernel(True), "--json", "-")
        # Nothing is claimed but what the kernel's profile does not say.
        self.assertEqual(done.code, 0, done.err)
        rows = self.rows(done)
        row = rows.pop("batch")
        self.assertEqual(row["state"], "broken")
        self.assertEqual(row["begins"]["width"], 5)
        self.assertEqual(row["begins"]["unit"], "batch rows")
        self.assertGreater(row["differing"], 0)
        self.assertLess(row["differing"], row["elements"])
        self.assertGreater(row["max_ulp"], 0)
        self.assertNotEqual(row["first"]["one"], row["first"]["other"])
        self.assertEqual({r["state"] for r in rows.values()}, {"kept", "not applicable"})
        self.assertEqual([e for e in events(done.out) if e["kind"] == "finding"], [])
        for word in (row["first"]["one"], row["first"]["other"], row["first"]["element"],
                     "broken from 5 batch rows", "broken batch, which is not claimed"):
            self.assertIn(word, done.err)

    def test_the_replay_line_shows_it_again(self):
        kernel = self.kernel(True)
        done = run("invariance", CASE, "--candidate", kernel, "--claims", "batch",
                   "--json", "-")
        self.assertEqual(done.code, 1, done.err)
        row = self.rows(done)["batch"]
        self.assertTrue(row["claimed"])
        (finding, *_) = [e for e in events(done.out) if e["kind"] == "finding"]
        self.assertEqual(finding["signature"], "invariance:claim_batch")
        self.assertEqual(finding["replay"], row["first"]["replay"])
        again = run(*shlex.split(finding["replay"])[1:])
        self.assertEqual(again.code, 1, again.out + again.err)
        self.assertIn(row["first"]["one"], again.out)
        self.assertIn(row["first"]["other"], again.out)
        # The same from the file of findings.
        found = self.path("found.ndjson", done.out)
        again = run("replay", found)
        self.assertEqual(again.code, 2)  # it would start a program
        again = run("replay", found, "--trust-file")
        self.assertEqual(again.code, 1, again.out + again.err)
        self.assertIn("claim_batch", again.out)

    def test_files_for_machines_and_readers(self):
        files = {name: self.path(name) for name in (
            "out.json", "junit.xml", "receipt.json", "page.html")}
        done = run("invariance", CASE, "--candidate", self.kernel(True), "--claims",
                   "batch,heads", "--json", files["out.json"], "--junit",
                   files["junit.xml"], "--receipt", files["receipt.json"], "--html",
                   files["page.html"])
        self.assertEqual(done.code, 1, done.err)
        text = {name: read(path) for name, path in files.items()}
        rules = load_schema("events.schema.json")
        kinds = [event["kind"] for event in events(text["out.json"])]
        self.assertEqual(kinds, ["start", "case", "finding", "claims", "summary"])
        for event in events(text["out.json"]):
            self.assertEqual(schema.problems(event, rules), [])
        tree = xml.etree.ElementTree.fromstring(text["junit.xml"])
        (failure,) = tree.iter("failure")
        self.assertIn("claim_batch", failure.text)
        receipt = json.loads(text["receipt.json"])
        self.assertEqual(schema.problems(receipt, load_schema("receipt.schema.json")), [])
        self.assertEqual([c["state"] for c in receipt["outcome"]["claims"]],
                         ["broken", "kept"])
        self.assertEqual([c["state"] for c in receipt["cases"][0]["claims"]],
                         ["broken", "kept"])
        page = Page(text["page.html"])
        (table,) = page.tables("claims")
        self.assertEqual([row[0] for row in table], ["claim", "batch", "heads"])
        self.assertIn("broken from 5 batch rows", table[1][-1])
        self.assertIn("batch is broken", page.text)

    def test_nothing_was_compared(self):
        done = run("invariance", CASE, "--candidate", self.kernel(False), "--claims",
                   "heads,split")
        self.assertEqual(done.code, 5, done.out)
        self.assertIn("unproved  split is claimed, and no pair of calls was compared",
                      done.out)

    def test_ours_keep_all_on_a_case_of_every_op(self):
        done = run("invariance", CASE,
                   "attention_backward b=2 hq=2 sq=9 skv=17 d=8 mask=causal align=br",
                   "mamba3_scan t=17 h=2 n=8 p=4", "mamba3_step t=9 n=8 p=4 carry=yes",
                   "mamba3_scan_backward t=9 n=8 p=4", "ssd_scan t=17 n=8 p=4",
                   "--claims", "repeat,batch,padding,chunk,decode,heads")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("6 claims: 6 kept", done.out)

    def test_without_a_case(self):
        listed = run("list", "cases", "data/cases/invariance.cases", "--json")
        self.assertEqual(listed.code, 0, listed.err)
        # The program has the file in itself, for whoever installed it alone.
        done = run("invariance", "--candidate", "mutant:plan.floor_division", "--claims",
                   "repeat", cwd=self.folder)
        self.assertNotEqual(done.code, 2, done.err)

    def test_bad_input_is_one_line(self):
        self.assertUsage(run("invariance", CASE, "--claims", "batches"),
                         "--claims", "batches", "batch")
        self.assertUsage(run("invariance", CASE, "--claims", "pages"), "pages")
        self.assertUsage(run("invariance", CASE, "--claims", "none"), "--claims")
        self.assertUsage(run("invariance", CASE, "--claims", ""), "--claims")
        self.assertUsage(run("invariance", "attention_forward sq=3 skv=5"), "d")
        self.assertUsage(run("invariance", CASE, "--candidate", "so:./none.so"), "none.so")
        self.assertUsage(run("invariance", CASE, "--cases", self.path("none")), "none")

    def test_list(self):
        done = run("list", "claims")
        self.assertEqual([line.split("  ")[0] for line in done.out.splitlines()],
                         ["repeat", "batch", "padding", "chunk", "decode", "heads",
                          "split"])


if __name__ == "__main__":
    unittest.main()
