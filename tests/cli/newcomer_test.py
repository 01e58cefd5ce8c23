#!/usr/bin/env python3
"""A newcomer's first hour, typed as a person would: ten tasks from the README to a red
gate. Each is a line of shell; nothing is looked up in the source. What a task needs to
know is taken from what the program printed before.

`./lockstep` in the folder is the program; data lies below the project's root."""

import os
import re
import subprocess
import unittest

import program

CASE = "attention_forward sq=64 skv=64 d=32 cap=30 mask=causal"


class Newcomer(program.TestCase):
    def setUp(self):
        super().setUp()
        self.home = self.folder
        os.symlink(os.path.abspath(program.PROGRAM), os.path.join(self.home, "lockstep"))
        os.symlink(os.path.join(os.path.abspath(program.SOURCE), "data"),
                   os.path.join(self.home, "data"))

    def type(self, line, code=0):
        """What the shell answers to `line`: stdout and stderr, as on a terminal."""
        done = subprocess.run(["bash", "-c", line], cwd=self.home, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, code, line + "\n" + done.stdout)
        return done.stdout

    def test_ten_tasks(self):
        # 1. What is there? The name alone tells, though it is no use as such.
        said = self.type("./lockstep", code=2)
        for verb in ("verify", "fuzz", "export", "plan", "replay", "selftest"):
            self.assertIn(verb, said)
        # 2. A typing error costs one look.
        said = self.type("./lockstep verfy --help", code=2)
        verb = re.search(r"did you mean '(\w+)'", said)[1]
        # 3. The help has an example that runs as it stands.
        said = self.type(f"./lockstep {verb} --help")
        example = re.search(r"^ +lockstep (verify 'attention_forward .*')$", said,
                            re.MULTILINE)[1]
        self.assertIn("1 case: 1 pass", self.type(f"./lockstep {example}"))
        # 4. The shipped cases, with a receipt.
        said = self.type("./lockstep verify --cases data/cases/smoke.cases "
                         "--budget 10cases --receipt r.json")
        self.assertIn("10 pass", said)
        # 5. The case as files for a kernel of one's own.
        self.type(f"./lockstep export '{CASE}' --minimal --with-expected --out mine")
        # 6. "The kernel": it wrote what was expected.
        self.type("cp mine/expected.safetensors mine/outputs.safetensors")
        mine = f"./lockstep verify '{CASE}' --candidate files:mine"
        # 7. A kernel of others has to say what it claims; the message says how.
        said = self.type(mine, code=2)
        self.assertIn("--profile", said)
        profile = re.search(r"\b(exact-f32)\b", said)[1]
        self.assertIn("1 pass", self.type(f"{mine} --profile {profile}"))
        # 8. One byte is wrong: red, and the line that shows it again is there.
        self.type(r"printf '\001' | dd of=mine/outputs.safetensors bs=1 seek=4000 "
                  "conv=notrunc status=none")
        said = self.type(f"{mine} --profile {profile} --json found.ndjson", code=1)
        again = re.search(r"replay: lockstep (verify .*)$", said, re.MULTILINE)[1]
        self.assertIn("FAIL", self.type(f"./lockstep {again}", code=1))
        self.assertIn("FAIL", self.type("./lockstep replay found.ndjson", code=1))
        # 9. A bug nobody told about, found and made small.
        said = self.type("./lockstep fuzz --candidate mutant:attn.causal_plus_one "
                         "--budget 2000cases --json fuzz.ndjson", code=1)
        self.assertIn("FOUND", said)
        self.assertIn("shrunk:", said)
        self.type("./lockstep replay fuzz.ndjson", code=1)
        # 10. The gate: cases of one's own, JUnit for the machine, red.
        self.type(f"printf '%s\\n' '# mine' '{CASE}' 'mamba3_scan t=64 n=8 p=4' "
                  "> my.cases")
        self.type("./lockstep verify --cases my.cases --junit green.xml")
        said = self.type("./lockstep verify --cases my.cases --junit red.xml "
                         "--candidate mutant:attn.causal_plus_one", code=1)
        self.assertIn("exit 1", said)
        with open(os.path.join(self.home, "red.xml"), encoding="utf-8") as file:
            self.assertIn("<failure", file.read())


if __name__ == "__main__":
    unittest.main()
