"""Kernels of bf16 that hand their outputs over in f32: `out = f32`."""

import os
import struct
import sys
import unittest

import program
from program import run

CASE = "attention_forward hq=2 sq=5 skv=9 d=8 lane=bf16 mask=causal seed=3"
HOSTS = os.path.join(program.SOURCE, "tests", "host")
BASE = "base = cpu-f32\nname = mine\nlane = bf16\nnan = unspecified\n"


def words(tensor):
    return struct.unpack(f"<{len(tensor[2]) // 2}H", tensor[2])


class WideOutput(program.TestCase):

    def setUp(self):
        super().setUp()
        self.narrow = self.path("narrow", BASE)
        self.wide = self.path("wide", BASE + "out = f32\n")

    def judge(self, profile, candidate, *more):
        return run("verify", CASE, "--candidate", candidate, "--profile", profile, *more)

    def answer(self, change=lambda index, bits: bits):
        """Files with o in f32, 40 % of a unit of bf16 beside what is expected."""
        folder, tensors = self.export(CASE)
        _, shape, _ = tensors["o"]
        bits = [change(n, (word << 16) + 0x6666)
                for n, word in enumerate(words(tensors["o"]))]
        tensors["o"] = ("F32", shape, struct.pack(f"<{len(bits)}I", *bits))
        self.write_outputs(folder, tensors)
        return "files:" + folder

    def test_files(self):
        files = self.answer()
        done = self.judge(self.wide, files)
        self.assertEqual(done.code, 0, done.out + done.err)
        done = self.judge(self.narrow, files)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("produced F32", done.out)
        self.assertIn("f32 where the profile says out = f32", done.out)
        # The lane's own type stays right.
        folder, _ = self.export(CASE, "narrow-case")
        self.assertEqual(self.judge(self.wide, "files:" + folder).code, 0)

    def test_wrong_values_of_f32_fail(self):
        # Four units of bf16 in one element.
        files = self.answer(lambda n, bits: bits + (4 << 16) if n == 7 else bits)
        done = self.judge(self.wide, files)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("envelope", done.out)
        # A NaN, whatever its bits.
        for nan in (0x7fc00000, 0xff800001, 0x7f801234):
            files = self.answer(lambda n, bits, nan=nan: nan if n == 7 else bits)
            self.assertEqual(self.judge(self.wide, files).code, 1)

    def test_programs(self):
        host = f"cmd:{sys.executable} {os.path.join(HOSTS, 'attention_host.py')}"
        for profile in (self.narrow, self.wide):
            done = self.judge(profile, host)
            self.assertEqual(done.code, 0, done.out + done.err)
        told = self.path("told")
        spy = self.host("spy.py", f"""
def answer(call, inside, outside):
    with open({told!r}, "a") as file:
        print(call["outputs"]["o"]["dtype"], call["outputs"]["lse"]["dtype"], file=file)
    return attention_host.attend(call, inside, outside)
""")
        self.assertEqual(self.judge(self.wide, spy, "--no-invariance").code, 0)
        with open(told, encoding="utf-8") as file:
            self.assertEqual(set(file.read().split()), {"f32"})

    def host(self, name, text):
        path = self.path(name, f"import sys\nsys.path.insert(0, {HOSTS!r})\n"
                         "import attention_host\n" + text +
                         "\nattention_host.serve(answer=answer)\n")
        return f"cmd:{sys.executable} {path}"

    def test_what_is_not_written_is_seen(self):
        lazy = self.host("lazy.py", """
def answer(call, inside, outside):
    o = call["outputs"]["o"]
    at = attention_host.place(o, (0, 1, 2, 3))
    kept = outside[at:at + 4]
    reply = attention_host.attend(call, inside, outside)
    outside[at:at + 4] = kept
    return reply
""")
        done = self.judge(self.wide, lazy)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("1 never written", done.out)

    def test_the_profile_is_read_and_written(self):
        done = run("verify", CASE, "--candidate", self.answer(), "--profile",
                   self.path("odd", BASE + "out = f16\n"))
        self.assertUsage(done, "odd:5", "one of lane f32")


if __name__ == "__main__":
    unittest.main()
