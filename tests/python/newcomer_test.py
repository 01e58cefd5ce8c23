#!/usr/bin/env python3
"""The first five minutes in Python, typed as a person would: kernels that return o
alone, window arithmetic of one's own, a prompt, and 40 slips. NumPy alone."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [PACKAGE, os.path.join(HERE, "..", "cli")]
os.environ.setdefault("LOCKSTEP_PROGRAM", os.environ.get("LOCKSTEP", "lockstep"))
os.environ["PYTHONPATH"] = PACKAGE
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import lockstep  # noqa: E402

PLAIN = "attention_forward sq=37 skv=129 d=64"
O_ONLY = '''
import numpy as np

import lockstep


def attend(q, k, v, *, call):
    z = call.scale * (q @ k.swapaxes(2, 3))
    z = np.where(np.tri(z.shape[2], z.shape[3], dtype=bool), z, -np.inf)
    p = np.exp(z - z.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True)) @ v


report = lockstep.verify(attend, "attention_forward sq=37 skv=129 d=64 mask=causal",
                         profile="cpu-f32")
print(report)
'''
WINDOW = '''
import numpy as np

import lockstep


PROFILE = "base = cpu-f32; name = mine; masked_nan_safe = no; nan = unspecified"


@lockstep.kernel(profile=PROFILE, features=["causal", "window", "scale"])
def attend(q, k, v, *, call):
    z = call.scale * (q @ k.swapaxes(2, 3))
    i, j = np.arange(z.shape[2])[:, None], np.arange(z.shape[3])
    seen = j <= i if call.causal else np.ones_like(j <= i)
    if call.window:
        left, right = call.window
        if left is not None:
            seen &= i - j <= left + EXTRA
        if right is not None:
            seen &= j - i <= right
    with np.errstate(all="ignore"):
        z = np.where(seen, z, -np.inf)
        top = np.where(seen.any(-1, keepdims=True), z.max(-1, keepdims=True), 0)
        p = np.exp(z - top)
        return np.where(seen.any(-1)[..., None], (p / p.sum(-1, keepdims=True)) @ v, 0)


CASES = ["attention_forward sq=64 skv=64 d=32 mask=causal&window:16,0",
         "attention_forward sq=64 skv=64 d=32 mask=window:5,3",
         "attention_forward sq=5 skv=9 d=8",
         "attention_forward sq=5 skv=9 d=8 mask=chunked:3",
         "attention_forward sq=5 skv=9 d=8 cap=30"]
'''


def typed(text, *arguments, stdin=False):
    """What Python prints of a script that lies in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mine.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with open(path, encoding="utf-8") as source:
            return subprocess.run(
                [sys.executable, *(["-"] if stdin else ["mine.py"]), *arguments],
                stdin=source if stdin else subprocess.DEVNULL, cwd=folder, check=False,
                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


class FiveMinutesTest(unittest.TestCase):
    def test_o_alone_is_judged_as_o(self):
        said = typed(O_ONLY)
        self.assertIn("1 case: 1 pass", said)
        self.assertIn("lse", said)  # which was not judged

    def test_o_alone_may_still_be_wrong(self):
        said = typed(O_ONLY.replace("dtype=bool)", "k=1, dtype=bool)"))
        self.assertIn("1 case: 1 fail", said)
        self.assertIn("envelope (o)", said)

    def test_lacks_is_all_that_is_said_of_lse(self):
        said = typed(O_ONLY.replace('profile="cpu-f32"',
                                    'profile="cpu-f32", lacks=["lse"]'))
        self.assertIn("1 case: 1 pass", said)

    def test_o_and_lse_are_both_judged(self):
        said = typed(O_ONLY.replace("return (p / p.sum(-1, keepdims=True)) @ v",
                                    "return (p / p.sum(-1, keepdims=True)) @ v, "
                                    "np.log(p.sum(-1))"))
        self.assertIn("envelope (lse)", said)

    def test_an_answer_that_loses_lse_later_is_an_error(self):
        said = typed(O_ONLY.replace("def attend", "calls = []\n\n\ndef attend").replace(
            "    return (p / p.sum(-1, keepdims=True)) @ v",
            "    calls.append(1)\n    o = (p / p.sum(-1, keepdims=True)) @ v\n"
            "    l = np.log(p.sum(-1)) + z.max(-1)\n"
            "    return (o, l) if len(calls) == 1 else o"))
        self.assertIn("returned 1 arrays, want 2: o, lse", said)
        self.assertIn("1 case: 1 error", said)

    def test_none_says_what_to_do(self):
        said = typed(O_ONLY.replace("    return (p", "    (p"))
        self.assertIn("returned None, want o, lse", said)
        self.assertIn("parameter `out`", said)

    def test_o_alone_is_timed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(O_ONLY)
            done = subprocess.run(
                [os.environ["LOCKSTEP_PROGRAM"], "bench", "attention_forward sq=8 skv=8 d=8 "
                 "mask=causal", "--candidate", f"py:{path}:attend", "--profile", "cpu-f32",
                 "--budget", "0.1s"], stdin=subprocess.DEVNULL, check=False, text=True,
                env={**os.environ, "LOCKSTEP_PYTHON": sys.executable},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("not timed", done.stdout)

    def test_a_prompt_is_judged_here(self):
        said = typed(O_ONLY, stdin=True)
        self.assertIn("1 case: 1 pass", said)
        self.assertIn("judged in this process", said)

    def test_a_second_kernel_below_the_first_call(self):
        second = O_ONLY[O_ONLY.index("def attend"):].replace("attend", "second")
        said = typed("from __future__ import annotations\n" + O_ONLY
                     + "print(report.cases[0].verdict)\n\n\n" + second)
        self.assertEqual(said.count("1 case: 1 pass"), 2, said)

    def test_a_closure_is_judged_here(self):
        inside = O_ONLY[:O_ONLY.index("report =")].replace("\n", "\n    ")
        said = typed(f"def make():{inside}\n    return attend\n\n\nimport lockstep\n"
                     f"print(lockstep.verify(make(), '{PLAIN} mask=causal', "
                     "profile='cpu-f32'))\n")
        self.assertIn("1 case: 1 pass", said)
        self.assertIn("judged in this process", said)

    def test_a_device_that_is_lost_costs_one_case(self):
        text = O_ONLY.replace(
            "def attend(q, k, v, *, call):",
            "lost = []\n\n\ndef attend(q, k, v, *, call):\n    if call.sq == 7 or lost:\n"
            "        lost.append(1)\n        raise RuntimeError('CUDA error: an illegal "
            "memory access was encountered')").replace(
            '"attention_forward sq=37 skv=129 d=64 mask=causal"',
            "[f'attention_forward sq={n} skv=9 d=8 mask=causal' for n in (5, 7, 6, 8)]")
        self.assertIn("4 cases: 3 pass, 1 error", typed(text))


class WindowTest(unittest.TestCase):
    """A kernel that does its window by itself, as most do."""

    def judge(self, extra, call):
        return typed(f"EXTRA = {extra}\n" + WINDOW + call)

    def test_right(self):
        said = self.judge(0, "print(lockstep.verify(attend, CASES))\n")
        self.assertIn("5 cases: 3 pass, 2 skipped", said)

    def test_one_key_too_many(self):
        said = self.judge(1, "print(lockstep.verify(attend, CASES[0]))\n")
        self.assertIn("1 case: 1 fail", said)

    def test_fuzz_draws_what_the_kernel_does(self):
        said = self.judge(0, "r = lockstep.fuzz(attend, budget='400cases', isolate=False)\n"
                          "print(r)\ns = r.summary\n"
                          "print('COMPUTED', 1 - s['skipped'] / s['cases'], s['findings'])\n")
        self.assertIn("left out", said)
        share, findings = said.split("COMPUTED ")[1].split()
        # What was refused in company is tried again, and one draw of 16 ignores it.
        self.assertGreaterEqual(float(share), 0.5, said)
        self.assertEqual(findings, "0", said)

    def test_fuzz_learns_what_a_kernel_refuses(self):
        # It says so call by call: causal masks of whole rows, no sinks, no cap.
        kernel = WINDOW.replace(', features=["causal", "window", "scale"]', "").replace(
            "    z = call.scale", """    odd = [not call.causal, call.window, call.softcap, "sink" in call.inputs,
           "q_seg" in call.inputs, call.hq != call.hkv, any(call.scalars["offset"]),
           min(call.valid_q) < call.sq, min(call.valid_kv) < call.skv]
    if any(odd):
        raise lockstep.Unsupported(f"no {odd.index(next(filter(None, odd)))}")
    z = call.scale""")
        said = typed("EXTRA = 0\n" + kernel + "r = lockstep.fuzz(attend, budget='400cases', "
                     "isolate=False, seed=3)\nprint(r)\ns = r.summary\n"
                     "print('COMPUTED', 1 - s['skipped'] / s['cases'], s['findings'])\n")
        self.assertIn("cases, refused: no 0\n", said)
        share, findings = said.split("COMPUTED ")[1].split()
        # Of blind draws it computes fewer than one in 30. It learns from refusals.
        self.assertGreaterEqual(float(share), 0.45, said)
        self.assertEqual(findings, "0", said)

    def test_fuzz_finds_the_window(self):
        said = self.judge(1, "print(lockstep.fuzz(attend, budget='400cases', "
                          "isolate=False))\n")
        self.assertIn("shrunk: attention_forward", said)
        self.assertIn("window:", said.split("shrunk:")[1].split("\n")[0])


class IdsTest(unittest.TestCase):
    """Ids as a pipeline has them: arrays, with padding, a row a sequence."""
    MINE = [[7] * 5 + [8] * 3 + [-1] * 2, [7] * 10]

    def test_words_of_a_case_line(self):
        self.assertEqual(lockstep.ids(self.MINE[0], pad=-1),
                         "q_seg=ids:7*5,8*3,-2*2 kv_seg=ids:7*5,8*3,-3*2")
        self.assertEqual(lockstep.ids(np.array(self.MINE)).split()[0],
                         "q_seg=[ids:7*5,8*3,-1*2;ids:7*10]")
        self.assertEqual(lockstep.ids([3, 3, 4], [4, 4]), "q_seg=ids:3*2,4*1 kv_seg=ids:4*2")

    def test_a_kernel_that_sees_padding_fails(self):
        line = ("attention_forward b=2 sq=10 skv=10 d=8 "
                + lockstep.ids(self.MINE, pad=-1))
        self.assertTrue(lockstep.verify("builtin:optimized", line).passed)
        self.assertFalse(lockstep.verify("mutant:attn.segments_ignored", line).passed)


def _k(q, k, v, *, call):
    raise lockstep.Unsupported("nothing")


O = np.zeros((1, 1, 3, 4), np.float32)

# (what is typed, words of the one line that answers)
SLIPS = (
    (lambda: lockstep.verify(_k, O, profile="cpu-f32"), "not arrays"),
    (lambda: lockstep.verify(_k, (O, O, O), profile="cpu-f32"), "fill=file:PATH"),
    (lambda: lockstep.verify(PLAIN, _k, profile="cpu-f32"), "the kernel comes first"),
    (lambda: lockstep.verify(O, PLAIN, profile="cpu-f32"), "a kernel is a function"),
    (lambda: lockstep.verify(_k, "nofile.cases", profile="cpu-f32"), "nor a file"),
    (lambda: lockstep.verify(_k, []), "there are no cases"),
    (lambda: lockstep.verify(_k, PLAIN), 'profile="cpu-f32"'),
    (lambda: lockstep.verify(_k, PLAIN, profile="float32"), "nearest is 'cpu-f32'"),
    (lambda: lockstep.verify(_k, PLAIN, profile="gpu"), "which-profile"),
    (lambda: lockstep.verify(_k, PLAIN + " softcap=5", profile="cpu-f32"), "nearest is 'cap'"),
    (lambda: lockstep.verify(_k, PLAIN + " dropout=0.1", profile="cpu-f32"),
     "dropout is not supported"),
    (lambda: lockstep.verify(_k, "attention_forward dtype=f32", profile="cpu-f32"),
     "nearest is 'lane'"),
    (lambda: lockstep.verify(_k, PLAIN, profile="cpu-f32", dtype="f32"), "nearest is 'lanes'"),
    (lambda: lockstep.verify(_k, PLAIN, profile="cpu-f32", atol=1e-3), "there is no tolerance"),
    (lambda: lockstep.verify(_k, PLAIN, profile="cpu-f32", device="cuda"), "docs/gpu.md"),
    (lambda: lockstep.verify(_k, PLAIN, profile="cpu-f32", framework="pytorch"),
     "nearest is 'torch'"),
    (lambda: lockstep.verify(_k, PLAIN, profile="cpu-f32", framework="np"),
     "nearest is 'numpy'"),
    (lambda: lockstep.verify(_k, PLAIN, profile="cpu-f32", wants=["mask"]), "'mask.dense'"),
    (lambda: lockstep.verify(_k, PLAIN, profile="cpu-f32", features=["softcaps"]),
     "nearest is 'softcap'"),
    (lambda: lockstep.verify("my.py:attend", PLAIN, profile="cpu-f32"), "py:my.py:attend"),
    (lambda: lockstep.verify("so:nofile.so", PLAIN), "there is no file"),
    (lambda: lockstep.fuzz(_k, "attention", profile="cpu-f32"), "attention_forward"),
    (lambda: lockstep.kernel(op="sdpa"), "attention_forward"),
    (lambda: lockstep.judge_kernel, "nearest is"),
    (lambda: lockstep.ids([0.5]), "want integers"),
    (lambda: lockstep.ids([[[1]]]), "want [s] or [b, s]"),
    (lambda: lockstep.ids([1 << 40]), "do not fit 32 bits"),
    (lambda: lockstep.ids([[1], [2]], [1]), "q_seg has 2 rows and kv_seg 1"),
    (lambda: lockstep.segment_ids, "nearest is 'ids'"),
    (lambda: lockstep.create_block_mask, "nearest is 'to_block_mask'"),
    (lambda: lockstep.assert_close, "nearest is 'verify'"),
    (lambda: lockstep.sdpa, "nearest is 'attention_forward'"),
)


class SlipsTest(unittest.TestCase):
    def test_each_has_its_neighbour(self):
        for n, (call, words) in enumerate(SLIPS):
            with self.subTest(n):
                with self.assertRaises((lockstep.UsageError, AttributeError)) as caught:
                    call()
                said = str(caught.exception)
                self.assertIn(words, said)
                self.assertNotIn("\n", said)

    def test_dir_has_what_is_used(self):
        names = dir(lockstep)
        for name in ("verify", "fuzz", "bench", "Case", "kernel", "parametrize",
                     "attention_forward"):
            self.assertIn(name, names)
        self.assertNotIn("importlib", names)


if __name__ == "__main__":
    unittest.main()
