#!/usr/bin/env python3
"""Mutants of the order of products in blocks (order=amx, N20) and of its guards,
before the tests of that order."""

import sys

import runner

A = "optimized/attention_blocks-inl.h"
F = "optimized/attention_forward-inl.h"
U = "optimized/simd/flush_scope.h"
X = "optimized/flushed_math.h"
E = "optimized/attention_exact-inl.h"
K = "optimized/attention_pack-inl.h"
S = "optimized/attention_finish-inl.h"
T = "optimized/attention_tiles.cc"

# name, source, text, replacement
MUTANTS = (
    ("blocks_of_64", A, "constexpr size_t kBlock = kProductBlock;\n  // Whole",
     "constexpr size_t kBlock = 2 * kProductBlock;\n  // Whole"),
    ("blocks_of_16", A, "constexpr size_t kBlock = kProductBlock;\n  // Whole",
     "constexpr size_t kBlock = kProductBlock / 2;\n  // Whole"),
    ("even_twice", A, "(df, a, b, b_stride, begin + 1, end, odd);",
     "(df, a, b, b_stride, begin, end, odd);"),
    ("one_chain_after_the_other", A,
     "hn::Add(before, hn::Add(even[r][v], odd[r][v]))",
     "hn::Add(hn::Add(before, even[r][v]), odd[r][v])"),
    ("odd_before_even", A,
     "hn::Add(before, hn::Add(even[r][v], odd[r][v]))",
     "hn::Add(hn::Add(before, odd[r][v]), even[r][v])"),
    ("unflushed", U, "if (flush_) _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);",
     ""),
    ("results_unflushed", U, "before_ | kFlushToZero | kDenormalsAreZero",
     "before_ | kDenormalsAreZero"),
    ("operands_unflushed", U, "before_ | kFlushToZero | kDenormalsAreZero",
     "before_ | kFlushToZero"),
    ("flushing_stays_on", U, "if (flush_) _mm_setcsr(before_);", ""),
    ("weights_begin_inside_a_block", A,
     "const size_t begin = block.begin / kBlock * kBlock;",
     "const size_t begin = block.begin;"),
    ("unguarded", T, "return values && NativeDotIsExact(worker.q_seen, tile.k_seen);",
     "return true;"),
    ("queries_unguarded", K,
     "worker.q_seen.Add(\n"
     "        SeenIn(job.inputs->q, {row.place, row.place + 1}, row_of));",
     "(void)row_of;"),
    ("flushed_sums_unguarded", F,
     "const float least = flushes ? kMinNormalExponent : kMinBitExponent;",
     "const float least = kMinBitExponent;"),
    ("letter_of_empty_rows", S,
     "(row.letter && row.visible)", "row.letter"),
    ("exact_operands_unflushed", X,
     "return std::fabs(a) < kLeast ? std::copysign(0.0f, a) : a;", "return a;"),
    ("exact_parity_of_hidden_keys", E,
     "std::vector<float>& chain = chains[key % 2];",
     "std::vector<float>& chain = chains[key / 2 % 2];"),
)

if __name__ == "__main__":
    R = "optimized/attention_forward.cc"
    units = {F: R, S: R, K: T, X: "optimized/matrix_check.cc",
             **dict.fromkeys((A, U, E), "optimized/attention_orders.cc")}
    sys.exit(runner.main("order", MUTANTS, units, also=("optimized/plan.cc", R, T),
                         optimize="-O0"))
