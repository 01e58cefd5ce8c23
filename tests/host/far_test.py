#!/usr/bin/env python3
"""Tensors that reach over 2^31 elements, and whose memory exists only where it is used:
offsets in 32 bits fail at once, offsets in 64 bits pass."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import kernel_builds  # noqa: E402
from files_test import CallsTest  # noqa: E402
from program import SANITIZED, events, run  # noqa: E402

OFFSET = """row * x->strides[0] + head * x->strides[1] + i * x->strides[2] +
         c * x->strides[3]"""
# Offsets in bytes, and in elements, that are cut off to 32 bits.
BYTES = f"(int32_t)({OFFSET})"
ELEMENTS = f"x->strides[3] * (int64_t)(int32_t)(({OFFSET}) / x->strides[3])"

SHAPE = "attention_forward b=2 hq=4 hkv=2 sq=3 skv=5 d=8 mask=causal align=br"
# One tensor far, by each of its axes: rows of the batch, heads, positions.
FAR = {
    "batch": "q:2147483648/24/8/1", "heads": "k:40/2147483650/8/1",
    "keys": "v:80/8/536870912/1", "rows": "o:32/8/1073741824/1",
    "all": "q:2147483648/24/8/1,k:2147483648/40/8/1,v:2147483648/40/8/1,o:2147483648/24/8/1",
}


def lines():
    return [f"{SHAPE} strides={strides}" for strides in FAR.values()]


class FarTest(CallsTest):
    def judged(self, text, name, line):
        kernel = kernel_builds.build(self.folder, "attention.c", text=text, name=name)
        return run("verify", line, "--candidate", "so:" + kernel, "--profile",
                   "from-candidate", "--json", "-")

    def test_the_judge_takes_the_memory_that_is_used(self):
        text = kernel_builds.example("attention.c")
        for line in lines():
            with self.subTest(line):
                done = self.judged(text, "right", line)
                self.assertEqual(done.code, 0, done.out + done.err)
                if not SANITIZED:
                    self.assertLess(done.max_rss_mib, 200)

    def test_offsets_of_32_bits_fail(self):
        text = kernel_builds.example("attention.c")
        for name, cut in (("bytes", BYTES), ("elements", ELEMENTS)):
            wrong = text.replace(OFFSET, cut)
            self.assertNotEqual(text, wrong)
            for line in lines():
                with self.subTest(cut=name, line=line):
                    done = self.judged(wrong, name, line)
                    self.assertIn(done.code, (1, 3), done.out + done.err)
                    found = [e for e in events(done.out) if e["kind"] == "finding"]
                    self.assertTrue(found, done.out)

    def test_near_tensors_do_not_show_it(self):
        wrong = kernel_builds.example("attention.c").replace(OFFSET, BYTES)
        done = self.judged(wrong, "near", SHAPE)
        self.assertEqual(done.code, 0, done.out + done.err)

    def test_gaps_are_no_outputs(self):
        """What is written far from every element is seen, wherever it lies."""
        text = kernel_builds.example("attention.c")
        end = "  return LOCKSTEP_DONE;"
        self.assertIn(end, text)
        wrong = text.replace(
            end, "  ((char*)call->o->data)[call->o->strides[0] / 2] = 1;\n" + end)
        line = f"{SHAPE} strides={FAR['all']}"
        done = self.judged(wrong, "gap", line)
        self.assertIn(done.code, (1, 3), done.out + done.err)
        self.assertIn("between the rows of o", done.out)

    def test_our_kernels_have_their_bits_there(self):
        done = run("verify", *lines())
        self.assertEqual(done.code, 0, done.out + done.err)
        if not SANITIZED:
            self.assertLess(done.max_rss_mib, 400)


if __name__ == "__main__":
    unittest.main()
