#!/usr/bin/env python3
"""Keys in pages: what is skipped and exported, and bugs of kernels that read them, for
tests/record/."""

import unittest

import encoding_kernels
import kernel_builds

RAGGED = "attention_forward b=2 hq=4 hkv=2 sq=1 skv=100 d=16 page=16 valid_kv=100,37"
FULL = "attention_forward b=2 hq=2 sq=3 skv=64 d=8 dv=4 page=16:nhd mask=causal align=br"
SHARED = "attention_forward b=2 hq=2 sq=1 skv=64 d=8 page=16:share=2 cap=5 sinklogit=normal:1"
FAR = "attention_forward hq=2 hkv=2 sq=1 skv=40 d=8 page=8 strides=k:536870912/64/8/1"
PLAIN = "attention_forward hq=2 sq=1 skv=40 d=8"

KERNEL = "paged_attention.c"
PAGE = "*(int32_t*)((char*)table->data + b * table->strides[0] + n * table->strides[1])"
OFFSET = """page * pool->strides[0] + g * head_stride +
                        slot * slot_stride"""
# What is wrong, the text in its place, and a line that shows it.
BUGS = {
    "a neighbour's page": (PAGE, PAGE.replace("b *", "(n == 1 ? (b + 1) % call->b : b) *"), RAGGED),
    "row 0 of the table": (PAGE, PAGE.replace("b *", "0 * b *"), RAGGED),
    "the next entry": (PAGE, PAGE.replace("n *", "(n == 0 ? 1 : n) *"), FULL),
    "slots of the last page": ("call->kv_len->data)[b];", "call->kv_len->data)[b] | 15;", RAGGED),
    "entries that are -1": ("call->kv_len->data)[b];", "call->kv_len->data)[0];", RAGGED),
    "a key too few": ("call->kv_len->data)[b];", "call->kv_len->data)[b] / 16 * 16;", RAGGED),
    "full pages lose a key": ("call->kv_len->data)[b];", "call->kv_len->data)[b] - 1;", FULL),
    "the other order": ("call->page_nhd ? 2 : 1", "call->page_nhd ? 1 : 2", FULL),
    "pages twice as large": ("call->page_size;\n  const int64_t slot",
                             "(2 * call->page_size);\n  const int64_t slot", RAGGED),
    "V by the stride of K": (OFFSET, OFFSET.replace("page * pool", "page * call->k_pages"), FULL),
    "offsets of 32 bits": (OFFSET, f"(int32_t)({OFFSET})", FAR),
}
# Those that may end the kernel's process; tests/record/ has the others.
OF_MEMORY = ("slots of the last page", "offsets of 32 bits")


class PagedTest(encoding_kernels.TestCase):
    def test_a_right_kernel_in_numpy_passes(self):
        self.passes("py:python/examples/numpy_paged.py:attend", RAGGED, FULL, SHARED)

    def test_bugs_fail(self):
        self.bugs_fail(kernel_builds.example(KERNEL), {x: BUGS[x] for x in OF_MEMORY},
                       lambda name, text: self.built(KERNEL, text, name), (1, 3))

    def test_slots_behind_the_last_key_hold_nan(self):
        """Though a kernel may say that NaN in masked keys is not safe, these are no keys: it
        reads whole pages, and gives their last slots the weight 0."""
        text = encoding_kernels.example("numpy_paged.py")
        for right, wrong in ((")[:keys].swap", ").swap"),
                             ("..., :keys] != 0)", "..., :keys] != 0)\n"
                              "        own.mask_dense = np.pad(own.mask_dense, [(0, 0)] * 3 + "
                              "[(0, -keys % call.page_size)])")):
            self.assertEqual(text.count(right), 1, right)
            text = text.replace(right, wrong)
        self.assertIn("safe = no", encoding_kernels.example("numpy_attention.py"))
        self.check("fail", self.written("whole_pages", text), RAGGED)

    def test_a_kernel_that_does_not_want_pages_is_not_asked(self):
        done = self.check("skipped", self.built("attention.c"), RAGGED)
        self.assertIn("the case has pages, and example-attention does not say that it wants them",
                      done.out)

    def test_keys_that_lie_together_may_be_refused(self):
        done = self.judged(self.built(KERNEL), PLAIN)
        self.assertIn("keys that do not lie in pages", done.out)

    def test_an_export_has_the_pool(self):
        head = self.head_of_export(RAGGED)
        for name in (b'"k_pages"', b'"v_pages"', b'"page_table"', b'"kv_len"'):
            self.assertIn(name, head)
        self.assertNotIn(b'"k":', head)


if __name__ == "__main__":
    unittest.main()
