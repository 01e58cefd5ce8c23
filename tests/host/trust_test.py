#!/usr/bin/env python3
"""No file starts a program, whatever door it names: receipts, findings, records of
a campaign and configurations of somebody else."""

import glob
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import kernel_builds  # noqa: E402
import program  # noqa: E402
from program import run  # noqa: E402

CASE = "attention_forward sq=3 skv=5 d=4"
# A shared object that acts before anybody calls it.
EVIL = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void Start(void) {
  close(open(MARK, O_CREAT | O_WRONLY, 0600));
}
"""


class TrustTest(program.TestCase):
    def setUp(self):
        super().setUp()
        self.mark = self.path("started")
        evil = kernel_builds.build(self.folder, "evil.c", f'-DMARK="{self.mark}"',
                                   text=EVIL)
        self.doors = (f"cmd:touch '{self.mark}'",
                      f"cmd-files:sh -c 'touch {self.mark}'",
                      f"so:{evil}", f"so:{evil},threads=1")

    def refuses(self, *arguments):
        self.assertUsage(run(*arguments), "--trust-file")
        self.assertFalse(os.path.exists(self.mark), arguments)

    def starts(self, *arguments):
        """The user's word does: otherwise the refusals would show nothing."""
        run(*arguments)
        self.assertTrue(os.path.exists(self.mark), arguments)
        os.remove(self.mark)

    def test_findings_and_receipts(self):
        for evil in self.doors:
            finding = {"kind": "finding", "case": CASE, "candidate": evil,
                       "profile": "cpu-f32"}
            receipt = {"kind": "receipt",
                       "cases": [{"outcome": {"findings": [finding]}}]}
            for name, text in (("f.ndjson", json.dumps(finding) + "\n"),
                               ("r.json", json.dumps(receipt))):
                with self.subTest(evil, file=name):
                    path = self.path(name, text)
                    self.refuses("replay", path)
                    done = run("replay", path, "--candidate", "variant:cpu")
                    self.assertEqual(done.code, 0, done.err)
                    self.assertFalse(os.path.exists(self.mark))
                    self.starts("replay", path, "--trust-file")

    def test_records_of_a_campaign(self):
        for number, evil in enumerate(self.doors):
            with self.subTest(evil):
                out = self.path(f"out{number}")
                done = run("fuzz", "--budget", "3cases", "--out", out)
                self.assertEqual(done.code, 0, done.out + done.err)
                (shard,) = glob.glob(out + "/*.ndjson")
                with open(shard, encoding="utf-8") as file:
                    text = file.read()
                self.assertIn("builtin:optimized,threads=1", text)
                with open(shard, "w", encoding="utf-8") as file:
                    file.write(text.replace("builtin:optimized,threads=1", evil))
                done = run("campaign", "merge", out)
                self.assertEqual(done.code, 2, done.out + done.err)
                self.assertIn("--trust-file", done.err)
                self.assertFalse(os.path.exists(self.mark))

    def test_configurations(self):
        self.path("k.cases", CASE + "\n")
        for evil in self.doors:
            with self.subTest(evil):
                self.path("lockstep.toml", 'cases = "k.cases"\nprofile = "cpu-f32"\n'
                          f'candidate = "{evil}"\n')
                done = run("verify", cwd=self.folder)
                self.assertUsage(done, "lockstep.toml names", "--trust-file")
                self.assertFalse(os.path.exists(self.mark))
                run("verify", "--trust-file", cwd=self.folder)
                self.assertTrue(os.path.exists(self.mark))
                os.remove(self.mark)

    def test_case_files_name_no_candidate(self):
        for evil in self.doors:
            cases = self.path("a.cases", f"{CASE} candidate={evil.split()[0]}\n")
            done = run("verify", "--cases", cases)
            self.assertEqual(done.code, 2, done.out)
            self.assertFalse(os.path.exists(self.mark))


if __name__ == "__main__":
    unittest.main()
