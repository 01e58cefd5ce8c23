#!/usr/bin/env python3
"""Cases with the key shard: the receipt, what is skipped, every door but a process."""
import glob
import json
import os
import shutil
import unittest

import program
import schema
from program import events, run

RING = "attention_forward hq=2 sq=12 skv=12 d=4 mask=causal shard=ring:3"
SCAN = "mamba3_scan t=12 n=4 p=2 shard=time:3"


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Shards(program.TestCase):

    def test_the_receipt_says_which_shard_was_which(self):
        receipt = self.path("receipt.json")
        done = run("verify", RING, "--draws", "0", "--receipt", receipt)
        self.assertEqual(done.code, 0, done.err)
        written = load(receipt)
        rule = load(os.path.join(program.SOURCE, "docs/schemas/receipt.schema.json"))
        self.assertEqual(schema.problems(written, rule), [])
        (case,) = written["cases"]
        shards = case["shards"]
        self.assertEqual(shards["shard"], "ring:3")
        self.assertEqual(len(shards["calls"]), 9)
        self.assertEqual(shards["calls"][4],
                         "step 2, shard 2 of 3: queries 4 to 7, keys 8 to 11")
        self.assertEqual(shards["why_not"], "")
        self.assertGreater(shards["elements"], 0)
        self.assertTrue(case["checks"]["law_shard"])

    def test_what_is_not_tried_is_no_pass(self):
        done = run("verify", RING, "--candidate", "variant:cpu-no-lse", "--json", "-")
        self.assertEqual(done.code, 5, done.err)
        (case,) = [e for e in events(done.out) if e["kind"] == "case"]
        self.assertEqual(case["verdict"], "skipped")
        self.assertIn("no lse", case["reason"])
        self.assertIn("no lse", case["shards"]["why_not"])
        self.assertIn("shard=ring:3: the kernel has no lse", done.err)

    def test_answers_from_files(self):
        for line, profile in ((RING, "cpu-f32"), (RING, "exact-f32"), (SCAN, "scan-f32")):
            folder = self.path(f"{line.split()[0]}-{profile}")
            done = run("export", line, "--candidate-profile", profile, "--with-expected",
                       "--out", folder)
            self.assertEqual(done.code, 0, done.err)
            for call in glob.glob(os.path.join(folder, "calls/*/expected.safetensors")):
                shutil.copy(call, os.path.join(os.path.dirname(call), "outputs.safetensors"))
            done = run("verify", line, "--draws", "0", "--candidate", "files:" + folder,
                       "--profile", profile, "--json", "-")
            (case,) = [e for e in events(done.out) if e["kind"] == "case"]
            self.assertEqual(case["shards"]["why_not"], "", done.err)
            self.assertGreater(case["shards"]["elements"], 0)

    def test_a_drawn_case_that_fails_has_its_shards_on_its_line(self):
        # Right where no offset is asked for: a shard asks for one.
        done = run("fuzz", "attention_forward", "--candidate", "mutant:attn.offset_ignored",
                   "--where", "align=tl mask=causal", "--in-shards", "--budget", "60cases",
                   "--json", "-")
        self.assertEqual(done.code, 1, done.err)
        (fault,) = [e for e in events(done.out) if e["kind"] == "finding"]
        self.assertIn("shard=", json.dumps(fault))


if __name__ == "__main__":
    unittest.main()
