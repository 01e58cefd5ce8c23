#!/usr/bin/env python3
"""lockstep.identify, and profile="auto": kernels of NumPy alone."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [PACKAGE, os.path.join(HERE, "..", "cli")]
os.environ.setdefault("LOCKSTEP_PROGRAM", os.environ.get("LOCKSTEP", "lockstep"))
os.environ["PYTHONPATH"] = PACKAGE
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["CI"] = ""
os.chdir(HERE)

import numpy as np  # noqa: E402
import lockstep  # noqa: E402
import program  # noqa: E402, F401

CASE = "attention_forward sq=5 skv=33 d=8 cap=20 mask=causal align=br seed=4"


def made(exp=np.exp, guards=False):
    """Weights divided by their sum before they meet V; lse is not there. `guards`: what lies
    behind valid_kv counts as 0."""
    @lockstep.kernel(op="attention_forward", wants=["mask.dense"], lanes=["f32"],
                     lacks=["lse"])
    def attend(q, k, v, *, call):
        for b in range(call.b if guards else 0):
            k, v = k.copy(), v.copy()
            k[b, :, call.valid_kv[b]:] = v[b, :, call.valid_kv[b]:] = 0
        z = np.float32(call.scale) * (q @ k.swapaxes(2, 3))
        if call.softcap:
            cap = np.float32(call.softcap)
            z = cap * np.tanh(z / cap)
        z = np.where(call.mask_dense, z, -np.inf)
        top = z.max(-1, keepdims=True)
        with np.errstate(all="ignore"):
            p = exp(z - np.where(np.isneginf(top), np.float32(0), top))
            total = p.sum(-1, keepdims=True)
            return np.where(total > 0, (p / total) @ v, np.float32(0))
    return attend


def half(x):
    return x.astype(np.float16)


def wide(x):
    return np.asarray(x, np.float32)


def eager(scale=1.0, divided=True, step=half, finish=lambda x: x):
    """One operation after the other in f16, as a framework has it; `divided`: weights are
    divided by their sum before they meet V. `step`: what rounds on the way to a score."""
    @lockstep.kernel(op="attention_forward", wants=["mask.dense"], lanes=["f16"],
                     lacks=["lse"])
    def attend(q, k, v, *, call):
        n = q.shape[1] // k.shape[1]
        k, v = (wide(x).repeat(n, axis=1) for x in (k, v))
        z = step(wide(q) @ k.swapaxes(2, 3))
        z = step(wide(z) * np.float32(call.scale * scale))
        if call.softcap:
            cap = np.float32(call.softcap)
            z = step(wide(step(np.tanh(wide(step(wide(z) / cap))))) * cap)
        z = np.where(call.mask_dense, wide(finish(z)), np.float32(-6e4))
        p = np.exp(z - z.max(-1, keepdims=True))
        total = p.sum(-1, keepdims=True)
        return half(wide(half(p / total)) @ v if divided else wide(half(p)) @ v / total)
    return attend


# What people serve, small: groups, caps, windows, one query, documents, a scale of one's own.
LINES = ["attention_forward hq=4 hkv=2 sq=33 skv=64 d=64 mask=causal align=br",
         "attention_forward hq=2 sq=48 skv=48 d=80 cap=5 mask=causal",
         "attention_forward hq=2 sq=1 skv=200 d=64 mask=causal align=br",
         "attention_forward hq=2 sq=48 skv=48 d=64 scale=0.1 mask=causal&window:16,0",
         "attention_forward hq=2 sq=40 skv=40 d=72 q_seg=runs:25,15 kv_seg=runs:25,15"]


class EagerTest(unittest.TestCase):
    def verified(self, kernel, profile, lane):
        return lockstep.verify(kernel, [f"{line} lane={lane}" for line in LINES], profile=profile,
                               isolate=False, options=["--explain-budget", "0.1"])

    def test_a_framework_in_f16(self):
        kernel = eager()
        found = lockstep.identify(kernel, isolate=False)
        self.assertEqual((found["score"].value, found["score"].word), ("f16", "seen"), str(found))
        self.assertEqual(found["score_round"].value, "each")
        for profile in ("auto", "eager-f16"):
            report = self.verified(kernel, profile, "f16")
            self.assertEqual(report.exit, 0, str(report))
            for wrong in (eager(scale=1.02), eager(step=lambda x: half(np.trunc(wide(x) * 8) / 8))):
                self.assertEqual(self.verified(wrong, profile, "f16").exit, 1, profile)

    def test_what_is_learned_of_scores(self):
        plain = lambda x: x
        found = lockstep.identify(eager(step=plain), isolate=False)
        self.assertEqual((found["score"].value, found["score"].word), ("f32", "seen"))
        found = lockstep.identify(eager(step=plain, finish=half), isolate=False)
        self.assertEqual((found["score"].value, found["score"].word), ("f16", "seen"))
        with self.assertRaises(KeyError):
            found["score_round"]  # once, which is no line
        # A fused kernel has no tensor of scores: it rounds them, and has to say so.
        found = lockstep.identify(eager(divided=False), isolate=False)
        self.assertEqual((found["score"].value, found["score"].word), ("f32", "reported"))
        with self.assertRaises(KeyError):
            found["score_round"]
        # Nor does a type that is not the tensors' say that operations are apart.
        found = lockstep.identify("mutant:attn.score_bf16,base=flash-f16", lane="f16")
        self.assertEqual(found["score"].value, "f32", str(found))
        found = lockstep.identify("mutant:attn.score_bf16,base=flash")
        self.assertEqual(found["score"].word, "reported", str(found))

    def test_the_emulated_ones(self):
        for variant, lane, profiles in (
                ("eager", "bf16", ("auto", "eager-bf16")),
                ("eager-shift", "bf16", ("auto", "base = eager-bf16; name = s; score_round = shift")),
                ("eager-half", "f16", ("auto", "eager-f16")),
                ("math-path", "bf16", ("auto", "torch-math-bf16"))):
            for profile in profiles:
                report = self.verified(f"variant:{variant}", profile, lane)
                self.assertEqual(report.exit, 0, (variant, str(report)))
            for bug in ("attn.scale_twice", "attn.drop_last_key"):
                report = self.verified(f"mutant:{bug},base={variant}", profiles[-1], lane)
                self.assertEqual(report.exit, 1, (bug, variant))

    def test_one_rounding_is_not_enough(self):
        # Two keys of about one score, which is large: each rounding of it shows in o.
        two = ("attention_forward hq=8 sq=512 skv=2 d=1 lane=bf16 scale=0.7 fill=q.normal:%d"
               "+k.uniform:7.5,8+v.normal:1%s")
        for case in (two % (8, ""), two % (5, " cap=45")):
            options = {"draws": 0, "options": ["--no-invariance", "--explain-budget", "0.1"]}
            for profile, code in (("eager-bf16", 0),
                                  ("base = eager-bf16; name = o; score_round = once", 1)):
                report = lockstep.verify("variant:eager", case, profile=profile, **options)
                self.assertEqual(report.exit, code, str(report))
            self.assertIn("passes with `score = bf16, score_round = each`", str(report))
        sinks = "attention_forward hq=4 sq=64 skv=2 d=1 lane=bf16 sinklogit=normal:20 fill=normal:4"
        for profile, code in (("base = flash-bf16; name = s; sink = bf16", 0), ("flash-bf16", 1)):
            report = lockstep.verify("variant:flash-sink-bf16", sinks, profile=profile, **options)
            self.assertEqual(report.exit, code, str(report))
        self.assertIn("passes with `sink = bf16`", str(report))

    def test_where_the_scale_is(self):
        for variant, value in (("cpu-scaled-q", "q_f32"), ("cpu", "logits"), ("cpu-no-lse", "logits")):
            self.assertEqual(lockstep.identify(f"variant:{variant}")["scale_at"].value, value)
        self.assertEqual(lockstep.identify("variant:math-path")["scale_at"].value, "roots")

        @lockstep.kernel(op="attention_forward", wants=["mask.dense"], lanes=["f32"],
                         lacks=["lse"])
        def scaled(q, k, v, *, call):
            z = (q * np.float32(call.scale)) @ k.swapaxes(2, 3)
            z = np.where(call.mask_dense, z, np.float32(-1e30))
            p = np.exp(z - z.max(-1, keepdims=True))
            return (p @ v) / p.sum(-1, keepdims=True)

        found = lockstep.identify(scaled, isolate=False)
        self.assertEqual((found["scale_at"].value, found["scale_at"].word), ("q_f32", "seen"))
        report = lockstep.verify(scaled, "attention_forward hq=2 sq=17 skv=64 d=80 mask=causal align=br",
                                 profile="auto", isolate=False)
        self.assertEqual(report.exit, 0, str(report))


class IdentifyTest(unittest.TestCase):
    def test_a_kernel_that_returns_o_alone(self):
        kernel = made()
        found = lockstep.identify(kernel)
        self.assertTrue(found.told, str(found))
        self.assertEqual(found["lse"].value, "none")
        self.assertEqual(found["normalise"].value, "before")
        self.assertEqual(found["exp_rel"].word, "seen")
        self.assertEqual(found["masked_nan_safe"].line, "masked_nan_safe = no")
        self.assertIn("normalise = before: 64 differences", str(found))
        lockstep.verify(kernel, CASE, profile=found.profile).check()
        lockstep.verify(kernel, CASE, profile="auto").check()

    def test_padding_is_named_where_it_will_do(self):
        found = lockstep.identify(made(guards=True))
        self.assertEqual(found["masked_nan_safe"].line, "masked_nan_safe = padding")

    def test_a_wrong_factor_is_not_learned(self):
        wrong = made(lambda x: np.exp2(x * np.float32(1.44)))
        found = lockstep.identify(wrong)
        self.assertFalse(found.told)
        self.assertEqual(found["p"].word, "cannot tell", str(found))
        self.assertEqual(found["exp_rel"].word, "assumed", str(found))
        self.assertFalse(lockstep.verify(wrong, CASE, profile=found.profile).passed)

    def test_specs_and_bad_input(self):
        found = lockstep.identify("variant:hopper")
        self.assertEqual(found["acc_qk"].value, "mma:16,2")
        self.assertIn("seen", repr(found))
        found = lockstep.identify("variant:scan-f16-lane", op="mamba3_scan")
        self.assertEqual(found["scan.state"].value, "f32")
        with self.assertRaises(KeyError):
            found["max"]


if __name__ == "__main__":
    unittest.main()
