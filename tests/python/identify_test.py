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
