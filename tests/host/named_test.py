#!/usr/bin/env python3
"""A bug is named through every door: a shared object, a Python function, a process, and
files of exported calls, on a case so long that a smaller one is asked for."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

os.environ["PYTHONPATH"] = os.path.join(HERE, "..", "..", "python")

import kernel_builds  # noqa: E402
from files_test import CallsTest  # noqa: E402
from program import run  # noqa: E402

CASE = "attention_forward hq=2 sq=4 skv=1024 d=64"
SENTENCE = "cause: the last visible key is left out: behaves like attn.drop_last_key, "


class NamedTest(CallsTest):
    def assertNamed(self, candidate):
        done = run("verify", CASE, "--candidate", candidate, "--profile", "cpu-f32")
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn(SENTENCE, done.out.splitlines()[1])

    def test_a_shared_object(self):
        text = kernel_builds.example("attention.c")
        dropped = text.replace(
            "weights[j] = expf(weights[j] - highest);",
            "weights[j] = j + 1 == call->skv ? 0 : expf(weights[j] - highest);")
        self.assertNotEqual(text, dropped)
        self.assertNamed("so:" + kernel_builds.build(self.folder, "attention.c",
                                                     text=dropped))

    def test_a_python_function(self):
        kernel = self.path("mine.py", (
            "import sys; sys.path.insert(0, %r)\nimport numpy_kernels\n\n"
            "def attend(q, k, v, *, call):\n"
            "    x = {'q': q, 'k': k[:, :, :-1], 'v': v[:, :, :-1],\n"
            "         'mask.dense': call.mask_dense[..., :-1]}\n"
            "    numbers = {'hq': call.hq, 'hkv': call.hkv, 'scale': call.scale,\n"
            "               'softcap': 0}\n"
            "    made = numpy_kernels.attention(numbers, x)\n"
            "    return made['o'].astype(q.dtype), made['lse'].astype('float32')\n") % HERE)
        self.assertNamed(f"py:{kernel}:attend,wants=mask.dense")

    def test_a_process(self):
        self.assertNamed(f"cmd:python3 '{HERE}/numpy_host.py' drop_key")

    # The export holds the smaller case, too, and `explain` takes it as well.
    def test_answers_from_files(self):
        folder = self.exported(CASE)
        self.answer(folder, "drop_key")
        self.assertNamed("files:" + folder)
        done = run("explain", CASE, "--candidate", "files:" + folder, "--profile",
                   "cpu-f32")
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn(SENTENCE[7:], done.out)
        self.assertRegex(done.out, "held against [0-9]+ emulated kernels, on 1 case")


if __name__ == "__main__":
    unittest.main()
