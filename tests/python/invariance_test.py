#!/usr/bin/env python3
"""lockstep.invariance: a NumPy kernel that keeps every claim, and one that splits the
keys by the size of the batch. NumPy alone."""
import os
import shlex
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [PACKAGE, os.path.join(HERE, "..", "cli")]
os.environ.setdefault("LOCKSTEP_PROGRAM", os.environ.get("LOCKSTEP", "lockstep"))
os.environ["PYTHONPATH"] = PACKAGE
os.environ["OMP_NUM_THREADS"] = "1"
os.chdir(HERE)

import numpy as np  # noqa: E402
import lockstep  # noqa: E402
import program  # noqa: E402
import split_kernels  # noqa: E402

CASE = "attention_forward hq=2 hkv=1 sq=3 skv=33 d=4 mask=causal align=br seed=4"
NUMPY = "base = cpu-f32; name = mine; masked_nan_safe = no; nan = unspecified"


class InvarianceTest(unittest.TestCase):
    def test_parts_of_a_fixed_length_keep_everything(self):
        report = lockstep.invariance(split_kernels.steady, CASE)
        self.assertTrue(report.passed, str(report))
        self.assertEqual(report.broken, [])
        self.assertLessEqual({"repeat", "batch", "padding", "chunk", "decode", "heads"},
                             set(report.kept), str(report))
        for claim in report.claims:
            self.assertFalse(claim.claimed)
            self.assertEqual(claim.pairs > 0, claim.name in report.kept)
            self.assertTrue(claim.kept or claim.untried, claim)

    def test_a_split_count_from_the_batch_is_shown(self):
        report = lockstep.invariance(split_kernels.by_batch, CASE)
        # Nothing was claimed: the table says so, and the run passes.
        self.assertTrue(report.passed, str(report))
        self.assertIn("batch", report.broken)
        self.assertIn("heads", report.kept)
        batch = report["batch"]
        self.assertEqual(batch.begins["batch rows"], 4, batch)
        self.assertGreater(batch.differing, 0)
        self.assertGreater(batch.max_ulp, 0)
        self.assertRegex(batch.first["element"], r"^o \[b=\d+ h=\d+ i=\d+ c=\d+\]$")
        for word in ("one", "other"):
            self.assertRegex(batch.first[word], r"\(0x[0-9a-f]{8}\)$")
        self.assertNotEqual(batch.first["one"], batch.first["other"])
        self.assertIn("breaks batch", repr(report))

    def test_what_is_claimed_fails(self):
        report = lockstep.invariance(split_kernels.by_batch, CASE, claims=["batch"])
        self.assertEqual(report.exit, 1, str(report))
        self.assertEqual([claim.name for claim in report.claims], ["batch"])
        self.assertEqual({f.check for f in report.findings}, {"claim_batch"})
        with self.assertRaisesRegex(lockstep.Failed, "batch"):
            report.check()
        # The line shows the same again, from a shell.
        again = program.run(*shell_words(report["batch"].replay), cwd=HERE)
        self.assertEqual(again.code, 1, again.out + again.err)
        self.assertIn(report["batch"].first["one"], again.out)

    def test_claims_of_the_profile(self):
        # Tensors from files have no other lengths.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "mask.npy")
        np.save(path, np.tri(3, 33, 30, np.uint8))
        short = f"attention_forward hq=2 sq=3 skv=33 d=4 mask=dense:{path} seed=4"
        for kernel, code in ((split_kernels.steady, 0), (split_kernels.by_batch, 1)):
            profile = f"{NUMPY}; claims = batch"
            report = lockstep.invariance(kernel, short, profile=profile)
            self.assertEqual(report.exit, code, str(report))
            self.assertTrue(report["batch"].claimed)
            self.assertFalse(report["heads"].claimed)
            # And in verify, which asks a reference, too.
            report = lockstep.verify(kernel, short, profile=profile)
            self.assertEqual(report.exit, code, str(report))

    def test_what_was_not_tried_is_no_pass(self):
        report = lockstep.invariance(split_kernels.steady, CASE, claims="split")
        self.assertEqual(report.exit, 5, str(report))
        self.assertTrue(report.unproved)
        self.assertEqual(report.untried, ["split"])
        self.assertIn("split: ", report.why())
        self.assertRaises(lockstep.Failed, report.check)

    def test_a_closure_is_tried_here(self):
        extra = 1

        def closure(q, k, v, *, call):
            return split_kernels.merged(q, k, v, call, [0, call.skv * extra])

        report = lockstep.invariance(closure, CASE, claims="heads", wants=["mask.dense"])
        self.assertTrue(report.passed, str(report))
        self.assertEqual(report.isolation, "none")

    def test_a_notebook_shows_the_table(self):
        report = lockstep.invariance(split_kernels.by_batch, CASE, claims="batch,heads")
        page = report._repr_html_()
        self.assertEqual(page.count("<tr>"), 3)
        self.assertIn("4 batch rows", page)
        self.assertIn(report["batch"].first["other"], page)
        self.assertIn("heads: kept", str(report["heads"]))
        self.assertIn("replay: lockstep invariance", str(report["batch"]))

    def test_words_that_are_no_claims(self):
        with self.assertRaisesRegex(lockstep.UsageError, "batches"):
            lockstep.invariance(split_kernels.steady, CASE, claims="batches")
        with self.assertRaisesRegex(lockstep.UsageError, "pages"):
            lockstep.invariance(split_kernels.steady, CASE, claims=["pages"])


def shell_words(line):
    """The arguments of a replay line."""
    return shlex.split(line)[1:]


if __name__ == "__main__":
    unittest.main()
