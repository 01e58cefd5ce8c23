#!/usr/bin/env python3
"""Keys in pages: kernels of others that read them pass, and each of their known bugs fails."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

# Before the program is started: the package of this checkout.
os.environ["PYTHONPATH"] = os.path.join(HERE, "..", "..", "python")

import kernel_builds  # noqa: E402
import program  # noqa: E402
from program import events, run  # noqa: E402

RAGGED = "attention_forward b=2 hq=4 hkv=2 sq=1 skv=100 d=16 page=16 valid_kv=100,37"
FULL = "attention_forward b=2 hq=2 sq=3 skv=64 d=8 dv=4 page=16:nhd mask=causal align=br"
SHARED = "attention_forward b=2 hq=2 sq=1 skv=64 d=8 page=16:share=2 cap=5 sinklogit=normal:1"
FAR = "attention_forward hq=2 hkv=2 sq=1 skv=40 d=8 page=8 strides=k:536870912/64/8/1"
PLAIN = "attention_forward hq=2 sq=1 skv=40 d=8"

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


class PagedTest(program.TestCase):
    def judged(self, kernel, *lines):
        return run("verify", *lines, "--candidate", kernel, "--profile", "from-candidate",
                   "--json", "-")

    def built(self, name, text):
        return "so:" + kernel_builds.build(self.folder, "paged_attention.c", text=text, name=name)

    def passes(self, kernel, *lines):
        done = self.judged(kernel, *lines)
        self.assertEqual(done.code, 0, done.out + done.err)
        cases = [e for e in events(done.out) if e["kind"] == "case"]
        self.assertEqual([e["verdict"] for e in cases], ["pass"] * len(lines), done.out)

    def test_a_right_kernel_passes(self):
        text = kernel_builds.example("paged_attention.c")
        self.passes(self.built("right", text), RAGGED, FULL, SHARED, FAR)

    def test_a_right_kernel_in_numpy_passes(self):
        self.passes("py:python/examples/numpy_paged.py:attend", RAGGED, FULL, SHARED)

    def test_bugs_fail(self):
        text = kernel_builds.example("paged_attention.c")
        for number, (bug, (right, wrong, line)) in enumerate(BUGS.items()):
            with self.subTest(bug):
                self.assertEqual(text.count(right), 1, right)
                kernel = self.built(f"bug{number}", text.replace(right, wrong))
                done = self.judged(kernel, line)
                self.assertIn(done.code, (1, 3), done.out + done.err)

    def test_a_kernel_that_does_not_want_pages_is_not_asked(self):
        kernel = "so:" + kernel_builds.build(
            self.folder, "attention.c", text=kernel_builds.example("attention.c"))
        done = self.judged(kernel, RAGGED)
        self.assertIn("the case has pages, and example-attention does not say that it wants them",
                      done.out)
        cases = [e for e in events(done.out) if e["kind"] == "case"]
        self.assertEqual([e["verdict"] for e in cases], ["skipped"], done.out)

    def test_keys_that_lie_together_may_be_refused(self):
        text = kernel_builds.example("paged_attention.c")
        done = self.judged(self.built("plain", text), PLAIN)
        self.assertIn("keys that do not lie in pages", done.out)

    def test_an_export_has_the_pool(self):
        folder = self.path("export")
        done = run("export", RAGGED, "--out", folder)
        self.assertEqual(done.code, 0, done.err)
        with open(os.path.join(folder, "calls", "1", "inputs.safetensors"), "rb") as file:
            head = file.read(4096)
        for name in (b'"k_pages"', b'"v_pages"', b'"page_table"', b'"kv_len"'):
            self.assertIn(name, head)
        self.assertNotIn(b'"k":', head)


if __name__ == "__main__":
    unittest.main()
