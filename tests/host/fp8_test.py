#!/usr/bin/env python3
"""q, k and v in fp8: what is skipped and exported, and bugs of a foreign kernel that reads
them, for tests/record/."""

import unittest

import encoding_kernels

BLOCKS = ("attention_forward b=2 hq=4 hkv=2 sq=7 skv=100 d=16 kvlane=e4m3 "
          "kscale=block:32:uniform:0.5,2 vscale=block:16:uniform:0.5,2")
HEADS = ("attention_forward hq=4 hkv=2 sq=9 skv=64 d=16 cap=20 mask=causal align=br kvlane=e5m2 "
         "kscale=head:uniform:0.5,2 vscale=tensor:0.7")
TOKENS = ("attention_forward b=2 hq=2 sq=5 skv=70 d=8 valid_kv=70,33 sinklogit=normal:1 "
          "kvlane=e4m3 kscale=token:uniform:0.5,2 vscale=token:uniform:0.5,2")
NONE = "attention_forward hq=2 sq=9 skv=64 d=16 kvlane=e5m2"
QUERIES = ("attention_forward b=2 hq=4 hkv=2 sq=21 skv=40 d=16 cap=10 kvlane=e4m3 "
           "kscale=head:uniform:0.5,2 qlane=e5m2 qscale=block:8:uniform:0.5,2 valid_q=21,12")
Q_HEADS = ("attention_forward hq=4 hkv=2 sq=9 skv=64 d=16 kvlane=e4m3 qlane=e4m3 "
           "qscale=head:uniform:0.5,2")
SMALL = "attention_forward hq=2 sq=9 skv=64 d=16 fill=normal:1+v.subnormal:0.5 kvlane=e4m3"
PLAIN = "attention_forward hq=2 sq=9 skv=40 d=8"

KERNEL = "py:python/examples/numpy_fp8.py:attend"
K = 'numbers(k, call.kvlane, call.inputs.get("k_scale"), call.k_scale_keys)'
V = 'numbers(v, call.kvlane, call.inputs.get("v_scale"), call.v_scale_keys)'
# Each bug: the source text, its wrong replacement, and a case line that shows it.
Q = 'numbers(q, call.qlane, call.inputs.get("q_scale"), call.q_scale_queries)'
BUGS = {
    "k without its scale": (K, "numbers(k, call.kvlane, None, 0)", HEADS),
    "v without its scale": (V, "numbers(v, call.kvlane, None, 0)", HEADS),
    "v's scale twice": ("wide * scale[..., None]", "wide * scale[..., None] ** 2", HEADS),
    "v by the scales of k": (V, V.replace('"v_scale"), call.v_', '"k_scale"), call.k_'), BLOCKS),
    "the next block's scale": ("scale = np.repeat(scale", "scale = np.repeat(np.roll(scale, 1, 2)",
                               BLOCKS),
    "the other head's scale": ("wide * scale[", "wide * scale[:, ::-1][", HEADS),
    "blocks twice as long": ("np.repeat(scale, keys", "np.repeat(scale, 2 * keys", BLOCKS),
    "scales of row 0": ("wide * scale[", "wide * scale[:1][", TOKENS),
    "e5m2 read as e4m3": (V, V.replace("call.kvlane", '"e4m3"'), NONE),
    "q without its scale": (Q, "numbers(q, call.qlane, None, 0)", QUERIES),
    "q's scales by kv head": (Q, Q.replace('call.inputs.get("q_scale")',
                                           'np.repeat(call.inputs["q_scale"][:, ::2], 2, 1)'), Q_HEADS),
    "q's block of the next size": (Q, Q.replace("queries)", "queries + 1)"), QUERIES),
    "q in the format of k": (Q, Q.replace("call.qlane", "call.kvlane"), QUERIES),
    "subnormal numbers flushed": ("exponent == 0, fraction *", "exponent == 0, 0 * fraction *",
                                  SMALL),
}


class Fp8Test(encoding_kernels.TestCase):
    def test_a_kernel_that_does_not_want_fp8_is_not_asked(self):
        done = self.check("skipped", self.built("attention.c"), BLOCKS)
        self.assertIn("the case has kvlane, and example-attention does not say that it wants",
                      done.out)

    def test_a_kernel_of_fp8_alone_may_raise_an_exception_for_other_keys(self):
        # The law `encoding` asks for the same numbers in f32.
        refusal = ('    if "kvlane" not in call.scalars:\n'
                   '        raise lockstep.Unsupported("keys that are not in fp8")\n')
        text = encoding_kernels.example("numpy_fp8.py")
        self.assertEqual(text.count(refusal), 1)
        self.passes(self.written("raises", text.replace(refusal, "")), NONE)

    def test_other_keys_may_be_refused(self):
        done = self.judged(KERNEL, PLAIN)
        self.assertIn("keys that are not in fp8", done.out)

    def test_an_export_has_bytes_and_scales(self):
        head = self.head_of_export(BLOCKS)
        for word in (b'"k_scale"', b'"v_scale"', b'"F8_E4M3"'):
            self.assertIn(word, head)

    def test_an_export_has_queries_and_their_scales(self):
        head = self.head_of_export(QUERIES)
        for word in (b'"q_scale"', b'"F8_E5M2"'):
            self.assertIn(word, head)


if __name__ == "__main__":
    unittest.main()
