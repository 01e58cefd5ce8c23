#!/usr/bin/env python3
"""Lists of keys: what is skipped and exported, and bugs of a foreign kernel that gathers them,
for tests/record/."""

import unittest

import encoding_kernels

LONG = "attention_forward hq=2 hkv=1 sq=1 skv=1024 d=16 mask=index:64"
HEADS = "attention_forward b=2 hq=4 hkv=2 sq=3 skv=60 d=16 mask=index:16"
CAUSAL = "attention_forward hq=4 hkv=2 sq=40 skv=40 d=16 mask=causal&index:12"
COUNTS = ("attention_forward b=3 hq=2 hkv=1 sq=6 skv=70 d=16 mask=index:20 valid_q=6,0,3 "
          "valid_kv=70,31,5")
PLAIN = "attention_forward hq=2 sq=1 skv=40 d=8"
OTHER = "attention_forward hq=2 sq=2 skv=40 d=8 mask=index:4|sink:1"

LISTED = "return np.unique(entries[:ends[0]] if len(ends) else entries)"
LIST = "call.indices[b, h // group, i]"
# Each bug: the source text, its wrong replacement, and a case line that shows it.
BUGS = {
    "a key twice": (LISTED, "return entries[:ends[0]] if len(ends) else entries", LONG),
    "-1 is the last key": (LISTED, "return np.unique(entries % 70)", COUNTS),
    "the last entry": (LISTED, "return np.unique(entries[:ends[0]] if len(ends) else entries[:-1])",
                       HEADS),
    "whole vectors of 16": (
        LISTED, "return np.unique((entries[:ends[0]] if len(ends) else entries)[:len(entries) // 16 "
        "* 16 if len(ends) == 0 else ends[0] // 16 * 16])", HEADS),
    "the list of the next query": (LIST, "call.indices[b, h // group, (i + 1) % call.sq]", HEADS),
    "behind the end of a list": (
        LISTED, "return np.unique(entries[(entries >= 0) & (entries < 2 ** 30)] % 60)", HEADS),
    "numbers that are no keys": (LISTED, "return np.unique(entries[entries >= 0])", HEADS),
    "the lists of kv head 0": (LIST, "call.indices[b, 0, i]", HEADS),
    "the lists by query head": (LIST, "call.indices[b, h % call.hkv, i]", HEADS),
    "the lists of batch row 0": (LIST, "call.indices[0, h // group, i]", HEADS),
    "causal forgotten": ("return back >= 0\n", "return back >= -1000\n", CAUSAL),
    "keys that do not exist": ('keys < call.inputs["valid_kv"][b]', "keys >= 0", COUNTS),
    "scores of neighbours": ("k[b, g, keys] @", "k[b, g, np.maximum(keys - 1, 0)] @", LONG),
}


class IndexTest(encoding_kernels.TestCase):
    def test_a_kernel_of_masks_passes(self):
        self.passes("py:python/examples/numpy_attention.py:attend", LONG, HEADS, CAUSAL, COUNTS)

    def test_masks_without_lists_may_be_refused(self):
        for line in (PLAIN, OTHER):
            done = self.check("skipped", "py:python/examples/numpy_topk.py:attend", line)
            self.assertIn("masks without one list for each query", done.out)

    def test_an_export_has_lists_and_their_mask(self):
        head = self.head_of_export(HEADS)
        self.assertIn(b'"indices"', head)
        self.assertIn(b'"dense_mask_0"', head)


if __name__ == "__main__":
    unittest.main()
