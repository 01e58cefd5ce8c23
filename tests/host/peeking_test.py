#!/usr/bin/env python3
"""Whether a kernel can read the judge's memory, and what the report says of it."""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import program  # noqa: E402
from program import run  # noqa: E402

CASE = "attention_forward sq=5 skv=9 d=8 mask=causal"
# Opens the memory of the judge, which started the process that started this one.
PEEK = """
import attention_host as host

def parent(process):
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(") ")[2].split()[1])

def answer(call, inside, outside):
    try:
        with open(f"/proc/{parent(parent('self'))}/mem", "rb"):
            message = "could peek"
    except OSError as error:
        message = f"could not peek: {error.strerror}"
    return {"type": "error", "id": call["id"], "message": message}

host.serve(host.HELLO, answer)
"""
NOTE = "the kernel ran as root and could have read the judge's memory"


class PeekingTest(program.TestCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        shutil.copy(os.path.join(HERE, "attention_host.py"), self.folder)
        self.path("peek.py", PEEK)

    def judge(self, kernel, *more, python="/usr/bin/python3"):
        return run("verify", CASE, "--candidate",
                   f"cmd:'{python}' '{self.path(kernel)}'", "--profile",
                   "from-candidate", *more)

    def user(self):
        """One that can start the system's Python; skips where there is none."""
        if os.geteuid() != 0:
            self.skipTest("only root starts programs of another user")
        done = subprocess.run(
            ["setpriv", "--reuid=nobody", "--clear-groups", "/usr/bin/python3",
             self.path("attention_host.py"), "--version"], capture_output=True,
            check=False, stdin=subprocess.DEVNULL)
        if b"LOCKSTEP_WIRE" not in done.stderr:
            self.skipTest("nobody cannot start /usr/bin/python3 here")
        return ["--candidate-user", "nobody"]

    def test_the_report_says_so(self):
        root = os.geteuid() == 0
        done = run("verify", CASE, "--candidate",
                   f"cmd:'{sys.executable}' '{HERE}/attention_host.py'", "--profile",
                   "from-candidate")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertEqual(NOTE in done.out, root, done.out)
        self.assertNotIn(NOTE, run("verify", CASE).out)

    def test_another_user_cannot(self):
        user = self.user()
        done = self.judge("attention_host.py", *user)
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertNotIn(NOTE, done.out)
        done = self.judge("peek.py", *user)
        self.assertEqual(done.code, 3)
        self.assertIn("could not peek: Permission denied", done.out)

    def test_a_script_with_files_too(self):
        user = self.user()
        script = self.path("kernel.py", "import os, sys\nos.listdir(sys.argv[1])\n"
                           "open(sys.argv[1] + '/mine', 'w').close()\nsys.exit(77)\n")
        done = run("verify", CASE, "--candidate", f"cmd-files:/usr/bin/python3 {script}",
                   "--profile", "cpu-f32", *user)
        self.assertEqual(done.code, 77, done.out + done.err)

    def test_what_that_user_cannot_read(self):
        user = self.user()
        os.chmod(self.path("peek.py"), 0o600)
        self.assertUsage(self.judge("peek.py", *user), "'nobody' cannot read", "peek.py",
                         "Permission denied")
        mine = self.path("python3")
        shutil.copy("/usr/bin/python3", mine)
        os.chmod(mine, 0o700)
        self.assertUsage(self.judge("attention_host.py", *user, python=mine),
                         "'nobody'", "Permission denied")

    def test_users_that_cannot_be_had(self):
        for name in ("root", "nobody-of-this-name"):
            done = self.judge("peek.py", "--candidate-user", name, python=sys.executable)
            self.assertUsage(done, "--candidate-user", name)
        if os.geteuid() != 0:
            done = self.judge("peek.py", "--candidate-user", "nobody")
            self.assertUsage(done, "only root")


if __name__ == "__main__":
    unittest.main()
