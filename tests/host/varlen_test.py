#!/usr/bin/env python3
"""Ragged batches: what is skipped and exported, and bugs of kernels that read them, for
tests/record/."""

import unittest

import encoding_kernels
import kernel_builds

RAGGED = ("attention_forward b=3 hq=4 hkv=2 sq=9 skv=100 d=16 layout=varlen valid_q=9,2,5 "
          "valid_kv=100,37,64")
CAUSAL = ("attention_forward b=2 hq=2 sq=33 skv=64 d=8 layout=varlen valid_q=33,20 valid_kv=64,21 "
          "mask=causal align=br cap=5 sinklogit=normal:1")
SHIFTED = "attention_forward b=4 hq=2 sq=4 skv=33 d=8 layout=varlen valid_kv=0,5,7,33"
PLAIN = "attention_forward hq=2 sq=1 skv=40 d=8"

KERNEL = "py:python/examples/numpy_varlen.py:attend"
ROW = "for b, ((q_first, q_end), (k_first, k_end)) in enumerate(rows):\n"
KEYS = "heads_first(k, k_first, k_end)"
VALUES = "heads_first(v, k_first, k_end)"
QUERIES = "heads_first(q, q_first, q_end)"
MASK = ":q_end - q_first, :k_end - k_first] != 0)"
# Each bug: the source text, its wrong replacement, and a case line that shows it.
BUGS = {
    "a token of the next row": (VALUES, "heads_first(np.roll(v, -1, 0) if b == 1 else v, "
                                "k_first, k_end)", RAGGED),
    "one wrong key of the next row": (KEYS, "heads_first(with_one(k, k_first + 3, k_end), "
                                      "k_first, k_end)", RAGGED),
    "the table of queries for keys": (KEYS, "heads_first(k, q_first, q_first + k_end - k_first)",
                                      RAGGED),
    "V by the table of queries": (VALUES, "heads_first(v, q_first, q_first + k_end - k_first)",
                                  RAGGED),
    "the last row lost": (ROW, ROW + "        if b == call.b - 1:\n            o[q_first:q_end] = 0\n"
                          "            lse[:, q_first:q_end] = 0\n            continue\n", RAGGED),
    "an empty row shifts": ("rows_of(call.cu_seqlens_k)", "full_rows(call.cu_seqlens_k)", SHIFTED),
    "the offset of padded rows": (MASK, "call.sq - q_end + q_first:call.sq, :k_end - k_first] != 0)",
                                  CAUSAL),
    "queries one token early": (QUERIES, "heads_first(q, q_first - (b > 0), q_end - (b > 0))",
                                RAGGED),
    "the longest row's keys": ("        row = min(b", "        k_end += 27 * (b == 1)\n"
                               "        call.inputs['mask.dense'] = np.ones_like(call.mask_dense)\n"
                               "        row = min(b", RAGGED),
    "the last key lost": ("        row = min(b", "        k_end = max(k_end - 1, k_first)\n"
                          "        row = min(b", RAGGED),
    "lse by tokens": ("    return o, lse", "    return o, lse.T.copy().reshape(lse.shape)", RAGGED),
    "o of the neighbour": ("    return o, lse", "    o[call.cu_seqlens_q[1]] = o[0]\n"
                           "    return o, lse", RAGGED),
}
IN_C = "varlen_attention.c"
K_AT = "*at(call->k, keys.first + j, g, c)"
V_AT = "*at(call->v, keys.first + j, g, c)"
KEYS_IN_C = "const range keys = tokens_of(call->cu_seqlens_k, b);"
COUNT = "const int64_t count = keys.end - keys.first;"
BUGS_IN_C = {
    "keys by the table of queries": (
        KEYS_IN_C, "range keys = tokens_of(call->cu_seqlens_k, b); "
        "keys.end += queries.first - keys.first; keys.first = queries.first;", RAGGED),
    "V by the table of queries": (V_AT, "*at(call->v, query - i + j, g, c)", RAGGED),
    "rows of padded length": (
        KEYS_IN_C, "range keys = tokens_of(call->cu_seqlens_k, b); keys.end -= keys.first; "
        "keys.first = b * 37 % 101; keys.end += keys.first;", RAGGED),
    "the first row's tables": (KEYS_IN_C, KEYS_IN_C.replace(", b", ", 0"), RAGGED),
    "the last key lost": (COUNT, COUNT.replace("first;", "first - 1;"), RAGGED),
    "a key of the next row": (K_AT, "*at(call->k, keys.first + j + (b == 1 && j == 36), g, c)",
                              RAGGED),
    "a value of the next row": (V_AT, "*at(call->v, keys.first + j + (b == 1 && j == 36), g, c)",
                                RAGGED),
    "the mask by tokens": ("attend(call, handle->scores, b, h, query - queries.first,",
                           "attend(call, handle->scores, b, h, query % call->sq,", CAUSAL),
    "the last row lost": ("b < call->b; ++b", "b + 1 < call->b || b == 0; ++b", RAGGED),
    "an empty row shifts": (
        KEYS_IN_C, "int64_t full = -1; const lockstep_tensor* cu = call->cu_seqlens_k; "
        "for (int64_t n = 0; n <= b; ++n) { while (++full < call->b - 1 && "
        "tokens_of(cu, full).first == tokens_of(cu, full).end) {} "
        "if (full >= call->b) full = call->b - 1; } "
        "const range keys = tokens_of(cu, full);", SHIFTED),
    "lse by tokens": ("h * lse->strides[0] + query * lse->strides[1]",
                      "(query * call->hq + h) * 4", RAGGED),
    "o of the query before": ("if (sum != 0) *at(call->o, query, h, c) /= sum;",
                              "if (sum != 0) *at(call->o, query, h, c) /= sum;\n    "
                              "if (i == 0 && query > 0) *at(call->o, query, h, c) = "
                              "*at(call->o, query - 1, h, c);", RAGGED),
    "a write behind the last row": (
        "return LOCKSTEP_DONE;", "*at(call->o, tokens_of(call->cu_seqlens_q, call->b - 1).end, 0, "
        "0) = 1; return LOCKSTEP_DONE;", RAGGED),
}
HELP = '''

def with_one(tokens, at, other):
    changed = tokens.copy()
    if other < len(tokens):
        changed[at] = tokens[other]
    return changed


def full_rows(cu_seqlens):
    full = [row for row in rows_of(cu_seqlens) if row[0] < row[1]]
    rows = rows_of(cu_seqlens)
    return [(full[b][0], full[b][0] + end - first) if b < len(full) else (first, end)
            for b, (first, end) in enumerate(rows)]
'''


class VarlenTest(encoding_kernels.TestCase):
    def test_bugs_in_c_fail(self):
        # tests/record/ has the others.
        bug = "a write behind the last row"
        self.bugs_fail(kernel_builds.example(IN_C), {bug: BUGS_IN_C[bug]},
                       lambda name, text: self.built(IN_C, text, name), codes=(1, 3))

    def test_a_kernel_that_does_not_want_them_is_not_asked(self):
        done = self.check("skipped", "py:python/examples/numpy_attention.py:attend", RAGGED)
        self.assertIn("the case has layout=varlen, and ", done.out)
        self.assertIn("does not say that it wants it", done.out)

    def test_padded_rows_may_be_refused(self):
        for kernel in (KERNEL, self.built(IN_C)):
            done = self.judged(kernel, PLAIN)
            self.assertIn("batches that are not ragged", done.out)

    def test_an_export_has_the_tokens(self):
        head = self.head_of_export(RAGGED, "--with-expected")
        for name in (b'"cu_seqlens_q"', b'"cu_seqlens_k"', b"[19,4,16]", b"[204,2,16]"):
            self.assertIn(name, head.replace(b" ", b""))


if __name__ == "__main__":
    unittest.main()
