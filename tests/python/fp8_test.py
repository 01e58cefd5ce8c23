#!/usr/bin/env python3
"""Tensors in fp8 as libraries hold them: torch's float8 types, and those of ml_dtypes in NumPy
and JAX. Each library is that of LOCKSTEP_PUBLIC_VENV; where it is not there the test of it is
not run, and says so by name."""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
VENV = os.environ.get("LOCKSTEP_PUBLIC_VENV", "")
PYTHON = os.path.join(VENV, "bin", "python")
EXAMPLES = os.path.join(SOURCE, "python", "examples")
os.environ["PYTHONPATH"] = os.pathsep.join([os.path.join(SOURCE, "python"), EXAMPLES])
if VENV:
    os.environ["LOCKSTEP_PYTHON"] = PYTHON

import program  # noqa: E402

LINES = (
    "attention_forward b=2 hq=4 hkv=2 sq=9 skv=40 d=16 kvlane=e4m3 "
    "kscale=block:16:uniform:0.5,2 vscale=block:8:uniform:0.5,2 valid_kv=40,11",
    "attention_forward b=2 hq=4 hkv=2 sq=9 skv=40 d=16 cap=20 mask=causal align=br kvlane=e5m2 "
    "kscale=head:uniform:0.5,2 vscale=token:uniform:0.5,2 qlane=e4m3 qscale=token:uniform:0.5,2",
    "attention_forward hq=2 sq=9 skv=40 d=16 kvlane=e4m3 qlane=e5m2 qscale=head:uniform:0.5,2")
# Bugs of torch_fp8.py: the text, its wrong replacement, and a line that shows it.
BUGS = {
    "q without its scale": ("call.inputs.get(\"q_scale\")", "None", LINES[1]),
    "a block too long": ("repeat_interleave(keys, 2)", "repeat_interleave(2 * keys, 2)", LINES[0]),
    "bytes in place of numbers": ("wide = x.float()", "wide = x.view(torch.uint8).float()",
                                  LINES[2]),
    "v in bf16": ("v = numbers(v, call", "v = 0 + numbers(v.bfloat16() * 1.3, call", LINES[0])}
# The types that a kernel sees, and numbers of its own type back.
TYPES = '''"""A kernel that says which types it was given."""
import lockstep
from numpy_attention import PROFILE

SEEN = {wanted!r}


@lockstep.kernel(op="attention_forward", framework="{framework}", profile=PROFILE,
                 wants=["kvlane", "qlane", "mask.dense"], lanes=["f32"])
def attend(q, k, v, *, call):
    assert [str(x.dtype) for x in (q, k, v)] == SEEN, [str(x.dtype) for x in (q, k, v)]
    raise lockstep.Unsupported("types as they should be")
'''


def has(module):
    return bool(VENV) and subprocess.run([PYTHON, "-c", f"import {module}"], check=False,
                                         capture_output=True).returncode == 0


def judged(kernel, *lines):
    return program.run("verify", *lines, "--candidate", kernel, "--profile", "from-candidate",
                       "--json", "-")


def verdicts(done):
    return [e["verdict"] for e in program.events(done.out) if e["kind"] == "case"]


class Torch(program.TestCase):
    def setUp(self):
        super().setUp()
        if not has("torch"):
            self.skipTest("not run: LOCKSTEP_PUBLIC_VENV has no torch")

    def test_a_right_kernel_passes(self):
        for lane in ("f32", "bf16", "f16"):
            done = judged("py:python/examples/torch_fp8.py:attend",
                          *(line + f" lane={lane}" for line in LINES))
            self.assertEqual(verdicts(done), ["pass"] * len(LINES), done.out + done.err)

    def test_drawn_cases_pass(self):
        done = program.run("fuzz", "--candidate", "py:python/examples/torch_fp8.py:attend",
                           "--profile", "from-candidate", "--budget", "60cases",
                           "--where", "kvlane=e4m3|e5m2 page=none sinklogit=none")
        self.assertEqual(done.code, 0, done.out + done.err)

    def test_bugs_fail(self):
        with open(os.path.join(EXAMPLES, "torch_fp8.py"), encoding="utf-8") as file:
            text = file.read()
        for number, (bug, (right, wrong, line)) in enumerate(BUGS.items()):
            with self.subTest(bug):
                self.assertEqual(text.count(right), 1, right)
                kernel = self.path(f"bug{number}.py", text.replace(right, wrong))
                done = judged(f"py:{kernel}:attend", line)
                self.assertEqual(verdicts(done), ["fail"], done.out + done.err)


class Types(program.TestCase):
    def sees(self, module, framework, form):
        if not has(module):
            self.skipTest(f"not run: LOCKSTEP_PUBLIC_VENV has no {module}")
        wanted = [form.format(name) for name in ("float8_e4m3fn", "float8_e5m2", "float8_e5m2")]
        kernel = self.path("seen.py", TYPES.format(wanted=wanted, framework=framework))
        done = judged(f"py:{kernel}:attend", LINES[1])
        self.assertIn("types as they should be", done.out + done.err)

    def test_torch(self):
        self.sees("torch", "torch", "torch.{}")

    def test_numpy_with_ml_dtypes(self):
        self.sees("ml_dtypes", "numpy", "{}")

    def test_jax(self):
        self.sees("jax", "jax", "{}")


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    whole = len(result.skipped) < result.testsRun
    sys.exit((0 if whole else 77) if result.wasSuccessful() else 1)
