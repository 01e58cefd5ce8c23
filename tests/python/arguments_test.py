#!/usr/bin/env python3
"""Arguments from Python: what a caller passes as a case, a kernel, a number or a path is
never an option of the program, and what has no meaning is a UsageError. And kernels of
three arguments, of one array. NumPy alone."""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [PACKAGE, os.path.join(HERE, "..", "cli")]
os.environ.setdefault("LOCKSTEP_PROGRAM", os.environ.get("LOCKSTEP", "lockstep"))
os.environ["PYTHONPATH"] = PACKAGE
os.environ.pop("CI", None)

import numpy as np  # noqa: E402
import yaml  # noqa: E402
import lockstep  # noqa: E402

C = "attention_forward hq=2 sq=5 skv=9 d=8 mask=causal"
PROFILE = "base = cpu-f32; name = m; masked_nan_safe = no; nan = unspecified"
NO_LSE = PROFILE + "; lse = none"
FACTS = {"op": "attention_forward", "wants": ["mask.dense"], "lanes": ["f32"]}


def of_call(q, k, v, call):
    z = np.float32(call.scale) * (q @ k.swapaxes(2, 3))
    z = np.where(call.mask_dense, z, np.float32(-np.inf))
    top = z.max(-1, keepdims=True)
    p = np.exp(z - np.where(np.isneginf(top), 0, top))
    with np.errstate(all="ignore"):
        return np.where(p.any(-1, keepdims=True), (p @ v) / p.sum(-1, keepdims=True), 0)


@lockstep.kernel(**FACTS)
def right(q, k, v, *, call):
    return of_call(q, k, v, call).astype(np.float32)


@lockstep.kernel(**FACTS)
def wrong(q, k, v, *, call):
    return (of_call(q, k, v, call) * 1.01).astype(np.float32)


def plain(q, k, v):
    z = (q @ k.swapaxes(2, 3)) / np.float32(q.shape[-1] ** 0.5)
    p = np.exp(z - z.max(-1, keepdims=True))
    return (p @ v) / p.sum(-1, keepdims=True)


@lockstep.kernel(features=["causal"])
def always_causal(q, k, v):
    z = (q @ k.swapaxes(2, 3)) / np.float32(q.shape[-1] ** 0.5)
    z = np.where(np.tri(*z.shape[2:], dtype=bool), z, np.float32(-np.inf))
    p = np.exp(z - z.max(-1, keepdims=True))
    return (p @ v) / p.sum(-1, keepdims=True)


def scan(q, k, v):
    return np.zeros_like(v)


def half(o_parts, lse_parts, *, call):
    w = np.exp(lse_parts - lse_parts.max(0))
    return np.sum(w[..., None] * o_parts, 0) / w.sum(0)[..., None]


# Excuses whatever is wrong with an op.
EXCUSE = """cases = ["none.cases"]
[[known_failure]]
op = "attention_forward"
signature = ["probes:o", "envelope:o", "bits:o", "laws:o", "statistics:o"]
expires = 2099-01-01
reason = "https://example.org/1"
"""


class Words(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        sys.path.insert(0, os.path.abspath(PACKAGE))
        os.chdir(folder.name)
        with open("inj.toml", "w", encoding="utf-8") as file:
            file.write(EXCUSE)

    OPTIONS = ("--config=inj.toml", "--html=inj.html", "--no-probes", "-v", "--")

    def refused(self, ask):
        """What the UsageError says."""
        with self.assertRaises(lockstep.UsageError) as raised:
            ask()
        self.assertNotIn("\n", str(raised.exception))
        return str(raised.exception)

    def test_strings_are_no_options(self):
        for word in self.OPTIONS:
            for cases in ([C, word], word, [word, C]):
                for ask in (lockstep.verify, lockstep.invariance):
                    self.refused(lambda: ask(wrong, cases, profile=NO_LSE))
            self.refused(lambda: lockstep.verify(word, C, profile=NO_LSE))
            self.refused(lambda: lockstep.verify(wrong, C, profile=word))
            self.refused(lambda: lockstep.fuzz(wrong, word, profile=NO_LSE, budget="3cases"))
            for name in ("budget", "shard", "seed", "threads", "draws", "call_timeout"):
                self.refused(lambda: lockstep.verify(wrong, C, profile=NO_LSE, **{name: word}))
            for name in ("op", "lane"):
                self.refused(lambda: lockstep.identify(wrong, **{name: word}))
            for name in ("seed", "findings", "shard", "where", "budget"):
                self.refused(lambda: lockstep.fuzz(wrong, profile=NO_LSE, **{name: word}))
        self.assertEqual(os.listdir(), ["inj.toml"])

    def test_a_path_is_a_path(self):
        path = "--config=inj.toml"
        with open(path, "w", encoding="utf-8") as file:
            file.write(C + "\n")
        report = lockstep.verify(wrong, path, profile=NO_LSE, isolate=False)
        self.assertEqual(report.exit, 1, report)
        report = lockstep.verify(wrong, [C], profile=NO_LSE, isolate=False,
                                 junit="--html=x", receipt="-v")
        self.assertEqual(report.exit, 1)
        self.assertEqual(sorted(os.listdir()), ["--config=inj.toml", "--html=x", "-v", "inj.toml"])

    def test_the_actions_give_options_their_values(self):
        for path in ("action.yml", ".github/actions/lockstep/action.yml"):
            with open(os.path.join(HERE, "..", "..", path), encoding="utf-8") as file:
                steps = yaml.safe_load(file)["runs"]["steps"]
            run, = (step["run"] for step in steps if "lockstep verify" in step.get("run", ""))
            # No word that begins with an input is a word of its own.
            self.assertEqual(re.findall(r'(?<![=\w"])"\$CONFIG', run), [])
            install = "".join(step.get("run", "") for step in steps)
            self.assertNotRegex(install, r'install [^;|&]*(?<!-- )"\$PACKAGE"')

    def test_what_has_no_meaning(self):
        asks = [
            lambda: lockstep.verify(right, None, profile=NO_LSE),
            lambda: lockstep.verify(right, 5, profile=NO_LSE),
            lambda: lockstep.verify(right, b"attention_forward sq=5", profile=NO_LSE),
            lambda: lockstep.verify(right, [], profile=NO_LSE),
            lambda: lockstep.verify(right, C + "\0", profile=NO_LSE),
            lambda: lockstep.verify(right, "a\0b", profile=NO_LSE),
            lambda: lockstep.verify(right, C + " \udc80", profile=NO_LSE),
            lambda: lockstep.verify(right, C + " " * (1 << 22), profile=NO_LSE),
            lambda: lockstep.verify(right, C, profile=5),
            lambda: lockstep.verify(right, C, profile="cpu-f32\0"),
            lambda: lockstep.verify(right, C, profile=b"cpu-f32"),
            lambda: lockstep.verify(right, C, profile=NO_LSE, seed="\0"),
            lambda: lockstep.verify(right, C, profile=NO_LSE, options="--no-probes"),
            lambda: lockstep.verify(right, C, profile=NO_LSE, options=[5]),
            lambda: lockstep.verify(right, C, profile=NO_LSE, options=5),
            lambda: lockstep.verify(right, C, profile=NO_LSE, wants=5),
            lambda: lockstep.verify(right, C, profile=NO_LSE, lanes=[5]),
            lambda: lockstep.verify(right, C, profile=NO_LSE, op=5),
            lambda: lockstep.verify(right, C, profile=NO_LSE, op=[["attention_forward"]]),
            lambda: lockstep.verify(right, C, profile=NO_LSE, features=3.5),
            lambda: lockstep.verify(right, C, profile=NO_LSE, framework=5),
            lambda: lockstep.verify(right, C, profile=NO_LSE, device=5),
            lambda: lockstep.verify(right, C, profile=NO_LSE, name=5, isolate=False),
            lambda: lockstep.kernel(profile=5)(right),
            lambda: lockstep.kernel(splits=5)(right),
            lambda: lockstep.invariance(right, C, claims=5),
            lambda: lockstep.invariance(right, C, claims=[5]),
            lambda: lockstep.fuzz(right, 5),
            lambda: lockstep.fuzz(right, profile=NO_LSE, where=object()),
            lambda: lockstep.identify(None),
            lambda: lockstep.parametrize(C, claims=5)(right),
        ]
        for number, ask in enumerate(asks):
            with self.subTest(number):
                self.refused(ask)
        with contextlib.ExitStack() as stack:
            stack.callback(os.environ.__setitem__, "LOCKSTEP_PROGRAM",
                           os.environ["LOCKSTEP_PROGRAM"])
            os.environ["LOCKSTEP_PROGRAM"] = "/nowhere/lockstep"
            with self.assertRaisesRegex(lockstep.LockstepError, "cannot be started"):
                lockstep.verify(right, C, profile=NO_LSE)


class Kernels(unittest.TestCase):
    def verified(self, kernel, case, **words):
        return lockstep.verify(kernel, case, isolate=False, **words)

    def test_one_array_and_no_lse(self):
        for profile in (PROFILE, NO_LSE, "auto"):
            report = self.verified(right, C, profile=profile)
            self.assertEqual(report.exit, 0, (profile, str(report)))
            self.assertEqual(self.verified(wrong, C, profile=profile).exit, 1, profile)
        found = lockstep.identify(right, isolate=False)
        self.assertEqual(found["lse"].value, "none")
        both = lockstep.kernel(**FACTS)(lambda q, k, v, *, call: (
            of_call(q, k, v, call), np.zeros(q.shape[:3], np.float32)))
        self.assertEqual(self.verified(both, C, profile=NO_LSE).exit, 0)

    def test_one_array_of_other_ops(self):
        case = "attention_merge s=3 h=2 n=5 dv=4"
        for extra in ("", "; lse = none"):
            profile = "base = cpu-f32; name = m; max = two_pass; masked_nan_safe = no" + extra
            merge = lockstep.kernel(op="attention_merge", lanes=["f32"])(half)
            report = self.verified(merge, case, profile=profile + "; nan = unspecified"
                                   "; empty_row = unspecified")
            self.assertNotEqual(report.exit, 3, str(report))

    def test_three_arguments(self):
        report = self.verified(plain, C[:-12], profile=PROFILE)
        self.assertEqual(report.exit, 0, str(report))
        for more, untold in (("mask=causal", "causal"), ("cap=30", "softcap"), ("scale=1", "scale"),
                             ("mask=window:3,0", "window"), ("valid_kv=7", "padding"),
                             ("sinklogit=const:0", "sink"), ("mask=prefix:3", "masks"),
                             ("mask=causal cap=30 align=br", "causal, offset, softcap")):
            report = self.verified(plain, f"{C[:-12]} {more}", profile=PROFILE)
            self.assertTrue(report.skipped, more)
            self.assertIn("plain has no parameter `call`, so it is not told that the case has "
                          f"{untold}; want def plain(q, k, v, *, call)", report.why())
        report = self.verified(always_causal, C, profile=PROFILE)
        self.assertEqual(report.exit, 0, str(report))
        report = self.verified(always_causal, C[:-12], profile=PROFILE)
        self.assertIn("not told that the case has no causal;", report.why())

    def test_three_arguments_of_a_scan(self):
        kernel = lockstep.kernel(op="ssd_scan", lanes=["f32"])(scan)
        report = self.verified(kernel, "ssd_scan t=5 n=4 p=2", profile="scan-f32")
        self.assertTrue(report.skipped)
        self.assertRegex(report.why(), "has no parameter `call`, .* a, .*dt")


INTERRUPTS = '''
import os, signal
import numpy as np
import lockstep
from arguments_test import FACTS, of_call
calls = 0

@lockstep.kernel(**FACTS)
def attend(q, k, v, *, call):
    global calls
    calls += 1
    pid = os.getpid()
    while calls == AT and pid > 1:
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
        with open(f"/proc/{pid}/cmdline") as file:
            if file.read().split("\\0")[1:2] == [WORD]:
                os.kill(pid, signal.SIGINT)
    return of_call(q, k, v, call).astype(np.float32)
'''


def by_address(q, k, v, *, call):
    """Right, and one place of o more where q does not begin on 64 bytes."""
    o = of_call(q, k, v, call).astype(np.float32)
    apart = q.__array_interface__["data"][0] % 64
    return np.nextafter(o, np.float32(9)) if apart else o


class Addresses(unittest.TestCase):
    def verified(self, **words):
        kernel = lockstep.kernel(**FACTS)(by_address)
        return lockstep.verify(kernel, C, isolate=False, **words)

    def test_the_way_on_is_named_and_leads_on(self):
        report = self.verified(profile=PROFILE)
        self.assertEqual(report.exit, 1)
        self.assertIn("`repeat = no`", str(report))
        self.assertIn("`alignment`", str(report))
        self.assertEqual(self.verified(profile=PROFILE + "; repeat = no").exit, 0)
        self.assertEqual(self.verified(profile=PROFILE, alignment=64).exit, 0)
        for value in (0, 3, 8192, "64 ", None.__class__, 64.0):
            with self.assertRaisesRegex(lockstep.UsageError, "a power of two up to 4096"):
                lockstep.kernel(alignment=value)


class Interrupts(unittest.TestCase):
    def interrupted(self, at, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(INTERRUPTS.replace("AT", str(at)).replace("WORD", repr(words[0])))
            done = subprocess.run(
                [os.environ["LOCKSTEP_PROGRAM"], *words, "--candidate", f"py:{path}:attend"],
                env={**os.environ, "LOCKSTEP_PYTHON": sys.executable,
                     "PYTHONPATH": os.pathsep.join([PACKAGE, HERE])},
                capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def test_an_interrupt_is_130(self):
        for words in (("identify",), ("verify", C, "--profile", "auto"),
                      ("verify", C, "--profile", NO_LSE), ("explain", C, "--profile", NO_LSE)):
            code, said = self.interrupted(4, *words)
            self.assertEqual(code, 128 + signal.SIGINT, (words, said))


if __name__ == "__main__":
    unittest.main(verbosity=2)
