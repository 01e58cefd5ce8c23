#!/usr/bin/env python3
"""data/cases/invariance.cases: lines enough for every claim, and our kernels keep all of
them on every line."""
import json
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = ROOT / "data/cases/invariance.cases"
CLAIMS = ("repeat", "batch", "padding", "chunk", "decode", "heads", "split")
OPS = {"attention_forward", "attention_backward", "mamba3_scan", "mamba3_scan_backward",
       "mamba3_step", "ssd_scan"}


def groups():
    """{claim: its lines}: a comment that begins with the claim begins its group."""
    found, lines = {}, []
    for line in PATH.read_text(encoding="utf-8").splitlines():
        title = re.match(r"# (\w+): ", line)
        if title and title[1] in CLAIMS:
            lines = found.setdefault(title[1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def length(line):
    return max(int(n) for n in re.findall(r" (?:skv|t)=(\d+)", line))


class InvarianceCases(unittest.TestCase):
    def test_lines_enough(self):
        found = groups()
        self.assertEqual(set(found), set(CLAIMS))
        for claim, lines in found.items():
            self.assertGreaterEqual(len(lines), 8, claim)
        lines = sum(found.values(), [])
        self.assertGreaterEqual(len(lines), 60)
        self.assertEqual(len(set(lines)), len(lines))
        self.assertEqual({line.split()[0] for line in lines}, OPS)
        self.assertGreaterEqual(sum(length(line) > 4096 for line in lines), 10)

    def test_ours_keep_everything(self):
        done = subprocess.run(
            [os.environ["LOCKSTEP"], "invariance", "--cases", str(PATH), "--claims",
             ",".join(CLAIMS), "--json", "-"], cwd=ROOT, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        (table,) = [e["claims"] for e in events if e["kind"] == "claims"]
        self.assertEqual([(row["claim"], row["state"]) for row in table],
                         [(claim, "kept") for claim in CLAIMS])
        for row in table:
            self.assertGreater(row["up_to"]["length"], 4096, row)
            self.assertGreaterEqual(row["cases"], 8, row)


if __name__ == "__main__":
    unittest.main()
