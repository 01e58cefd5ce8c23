#!/usr/bin/env python3
"""V in k: kernels of others, what is skipped and exported; and bugs of the one that reads one
buffer, for tests/record/."""

import unittest

import encoding_kernels

WIDE = "attention_forward hq=16 hkv=1 sq=1 skv=100 d=576 alias=v_in_k:512"
LONG = "attention_forward hq=4 hkv=1 sq=1 skv=1024 d=40 alias=v_in_k:32"
ROWS = ("attention_forward b=2 hq=4 hkv=2 sq=3 skv=64 d=24 alias=v_in_k:16 mask=causal align=br "
        "valid_kv=64,37")
GAPS = ("attention_forward b=2 hq=2 hkv=1 sq=1 skv=40 d=12 alias=v_in_k:8 strides=k:1000/980/24/2 "
        "cap=5 sinklogit=normal:1")
PAGES = "attention_forward hq=2 hkv=1 sq=1 skv=40 d=12 alias=v_in_k:8 page=8"
PLAIN = "attention_forward hq=2 hkv=1 sq=1 skv=40 d=12 dv=8"

KERNEL = "mla_decode.c"
VALUE = "sums[c] += weight * *(const float*)(latent + c * next);"
LATENT = "(const char*)at(latents, b, g, j, 0);"
# Each bug: the source text, its wrong replacement, and a case line that shows it.
BUGS = {
    "the last DV channels": (VALUE, VALUE.replace("c *", "(c + call->d - call->dv) *"), WIDE),
    "a channel too far": (VALUE, VALUE.replace("c *", "(c + 1) *"), LONG),
    "the channels of positions": (
        VALUE, VALUE.replace("c *", "(call->dv + c % (call->d - call->dv)) *"), LONG),
    "the values of the neighbour": (
        VALUE, VALUE.replace("latent +", "latent - (j > 0 ? latents->strides[2] : 0) +"), LONG),
    "latents DV apart": (LATENT, "(const char*)latents->data + "
                         "((b * call->hkv + g) * call->skv + j) * call->dv * 4;", LONG),
    "scores of DV channels": ("c < call->d;", "c < call->dv;", LONG),
    "the scale of DV": ("score *= (float)call->scale;", "score /= sqrtf((float)call->dv);", LONG),
    "the first head's latents": ("at(latents, b, g,", "at(latents, b, 0 * g,", ROWS),
    "the first row's latents": ("at(latents, b, g,", "at(latents, 0 * b, g,", ROWS),
    "channels side by side": ("next = latents->strides[3];", "next = 4;", GAPS),
    "sums of the old maximum": ("sums[c] *= down;", "sums[c] *= 1;", LONG),
}


class AliasTest(encoding_kernels.TestCase):
    def test_a_right_kernel_in_numpy_passes(self):
        self.passes("py:python/examples/numpy_mla.py:attend", WIDE, LONG, ROWS, GAPS)

    def test_a_kernel_of_k_and_v_passes(self):
        self.passes("py:python/examples/numpy_attention.py:attend", WIDE, ROWS, GAPS)

    def test_others_are_skipped(self):
        done = self.check("skipped", self.built(KERNEL), PLAIN, PAGES)
        self.assertIn("values outside the keys", done.out)

    def test_an_export_has_both(self):
        head = self.head_of_export(ROWS)
        self.assertIn(b'"k":', head)
        self.assertIn(b'"v":', head)


if __name__ == "__main__":
    unittest.main()
