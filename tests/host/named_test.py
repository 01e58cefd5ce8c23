#!/usr/bin/env python3
"""A bug is named through every door: a shared object, a Python function, a process, and
files of exported calls, on a case so long that a smaller one is asked for."""

import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

os.environ["PYTHONPATH"] = os.path.join(HERE, "..", "..", "python")

import kernel_builds  # noqa: E402
from files_test import CallsTest  # noqa: E402
from program import SOURCE, run  # noqa: E402

CASE = "attention_forward hq=2 sq=4 skv=1024 d=64"
SENTENCE = "cause: the last visible key is left out: behaves like attn.drop_last_key, "


# A C kernel in bf16 whose window is 17 keys where 16 are asked for.
WINDOW_17 = """
static int sees(const lockstep_attention_forward_call* call, int64_t b, int64_t h, int64_t i,
                int64_t j) {
  return i - j == 17 || *(uint8_t*)at(call->mask_dense, b, h, i, j) != 0;
}

static float load(const lockstep_tensor* x, int64_t b, int64_t h, int64_t i, int64_t c) {
  const uint32_t bits = (uint32_t)*(const uint16_t*)at(x, b, h, i, c) << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static uint16_t narrow(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// One query"""


class NamedTest(CallsTest):
    def assertNamed(self, candidate, case=CASE, profile="cpu-f32", sentence=SENTENCE):
        done = run("verify", case, "--candidate", candidate, "--profile", profile)
        self.assertEqual(done.code, 1, done.out + done.err)
        causes = [line for line in done.out.splitlines() if "      cause: " in line]
        self.assertIn(sentence, causes[0])

    def test_a_shared_object(self):
        text = kernel_builds.example("attention.c")
        dropped = text.replace(
            "weights[j] = expf(weights[j] - highest);",
            "weights[j] = j + 1 == call->skv ? 0 : expf(weights[j] - highest);")
        self.assertNotEqual(text, dropped)
        self.assertNamed("so:" + kernel_builds.build(self.folder, "attention.c",
                                                     text=dropped))

    def test_the_bug_that_readme_begins_with(self):
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
            line, bug, shown = re.search(
                r"lockstep explain '(.*?)' --candidate mutant:([a-z_.]+),.*?\n```text\n"
                r".*?\n1     (.*?), the same bits\n", file.read(), re.S).groups()
        self.assertEqual(bug, "attn.window_left_plus_one")
        demo = {"case": line, "profile": "flash-bf16", "sentence": "cause: " + shown + ", "}
        text = kernel_builds.example("attention.c")
        head, rest = re.split(r"\nstatic float load.*?\n// One query", text, flags=re.S)
        rest = re.sub(r"\*\(uint8_t\*\)at\(call->mask_dense, b, h, i, j\) == 0",
                      "!sees(call, b, h, i, j)", rest)
        rest = re.sub(r"\*\(float\*\)at\(call->o, b, h, i, c\) = (.*?);",
                      r"*(uint16_t*)at(call->o, b, h, i, c) = narrow(\1);", rest)
        head = head.replace('"f32"', '"bf16"').replace("<stdlib.h>", "<stdlib.h>\n#include <string.h>")
        self.assertNamed("so:" + kernel_builds.build(
            self.folder, "attention.c", text=head + WINDOW_17 + rest), **demo)
        folder = self.exported(line, profile="flash-bf16")
        self.answer(folder, "window_17")
        self.assertNamed("files:" + folder, **demo)

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
