#!/usr/bin/env python3
"""The kernels of python/examples/gpu without a GPU: the page that their script writes, and
the Triton kernel under its interpreter, right and with each planted bug."""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(SOURCE, "scripts"), os.path.join(HERE, "..", "cli")]
VENV = os.environ.get("LOCKSTEP_PUBLIC_VENV", "")
PYTHON = os.path.join(VENV, "bin", "python")
os.environ["PYTHONPATH"] = os.pathsep.join(
    os.path.join(SOURCE, "python", folder) for folder in ("", "examples"))
os.environ["LOCKSTEP_PYTHON"] = PYTHON
os.environ["TRITON_INTERPRET"] = "1"

import gpu_kernels_page  # noqa: E402
import judge_gpu_kernels  # noqa: E402
import program  # noqa: E402

# What a bug is called by the judge, or what it cannot be told from.
NAMED = {
    "causal_plus_one": "attn.causal_plus_one",
    "window_plus_one": "attn.window_left_plus_one",
    "head_modulo": "attn.head_modulo",
    "mask_before_cap": "attn.mask_before_cap",
    "not_rescaled": "attn.acc_not_rescaled",
    "lse_in_base_2": "attn.lse_log2",
    "tail_dropped": "attn.tiles_beyond",
}


def has_triton():
    return bool(VENV) and subprocess.run([PYTHON, "-c", "import torch, triton"], check=False,
                                         capture_output=True).returncode == 0


def judged(function, case):
    return program.run("verify", case, "--candidate",
                       f"py:python/examples/gpu/triton_flash.py:{function}", "--profile",
                       "from-candidate", "--draws", "0")


class PageTest(unittest.TestCase):
    ROWS = [{"kernel": "a.py:f", "not_run": "no GPU"},
            {"kernel": "b.py:g", "not_run": "", "wrong": [
                {"case": "c", "message": "o at [b=0]", "replay": "lockstep verify 'c'"}],
             "counts": {"pass": 3, "fail": 1, "suspicious": 0, "untrusted": 2, "skipped": 4,
                        "error": 0}}]

    def page(self, device, times):
        return gpu_kernels_page.page_of(
            {"device": device, "versions": {"torch": "2"}, "kernels": self.ROWS, "times": times,
             "planted": [{"bug": "x", "case": "c", "verdict": "fail", "named": "it is x"}]})

    def test_on_a_gpu(self):
        page = self.page("GPU 1", [{"kernel": "b.py:g", "warm": 0.5, "drawn_per_second": 40}])
        for words in ("ran on GPU 1 (torch 2)", "| `b.py:g` | 3 | 1 | 2 | 4 | |",
                      "`b.py:g`: o at [b=0]", "lockstep verify 'c'", "| x | fail | it is x |",
                      "| `b.py:g` | 0.50 | 40 |"):
            self.assertIn(words, page)

    def test_without_one(self):
        page = self.page("", [])
        self.assertIn("Without a GPU", page)
        self.assertIn("| `a.py:f` | - | - | - | - | no GPU |", page)
        self.assertNotIn("## Times", page)

    def test_each_kernel_is_there(self):
        for function, cases, _ in judge_gpu_kernels.KERNELS:
            file, name = function.split(":")
            with open(os.path.join(SOURCE, judge_gpu_kernels.FOLDER, file), encoding="utf-8") as f:
                text = f.read()
            # triton_flash.py names its own by lane and bug.
            self.assertTrue(name in text or file == "triton_flash.py", function)
            self.assertTrue(os.path.exists(os.path.join(SOURCE, cases)), cases)


@unittest.skipUnless(has_triton(), "not run: LOCKSTEP_PUBLIC_VENV has no torch and triton")
class InterpretedTest(unittest.TestCase):
    def test_the_right_kernel_passes(self):
        for lane, more in (("bf16", " lane=bf16 p=bf16"), ("f16", " lane=f16 p=f16"), ("f32", "")):
            done = judged(f"right_{lane}", "attention_forward hq=4 hkv=2 sq=37 skv=45 d=24 cap=20 "
                          "mask=causal align=br" + more)
            self.assertIn("1 case: 1 pass", done.out + done.err)

    def test_each_planted_bug_is_named(self):
        self.assertEqual(set(NAMED), set(judge_gpu_kernels.PLANTED))
        for bug, case in judge_gpu_kernels.PLANTED.items():
            with self.subTest(bug):
                done = judged(f"{bug}_bf16", f"attention_forward {case} lane=bf16 p=bf16")
                self.assertEqual(done.code, 1, done.out + done.err)
                self.assertIn(NAMED[bug], done.out + done.err)


if __name__ == "__main__":
    unittest.main()
