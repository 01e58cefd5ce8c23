#!/usr/bin/env python3
"""Mutants of the order of products in blocks (order=amx, N20) and of its guards,
before the tests of that order."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("blocks_of_64", "constexpr size_t kBlock = kProductBlock; // Whole",
     "constexpr size_t kBlock = 2 * kProductBlock; // Whole"),
    ("blocks_of_16", "constexpr size_t kBlock = kProductBlock; // Whole",
     "constexpr size_t kBlock = kProductBlock / 2; // Whole"),
    ("even_twice", "(df, a, b, b_stride, begin + 1, end, odd);",
     "(df, a, b, b_stride, begin, end, odd);"),
    ("one_chain_after_the_other", "hn::Add(before, hn::Add(even[r][v], odd[r][v]))",
     "hn::Add(hn::Add(before, even[r][v]), odd[r][v])"),
    ("odd_before_even", "hn::Add(before, hn::Add(even[r][v], odd[r][v]))",
     "hn::Add(hn::Add(before, odd[r][v]), even[r][v])"),
    ("unflushed", "if (flush_) _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);", ""),
    ("results_unflushed", "before_ | kFlushToZero | kDenormalsAreZero",
     "before_ | kDenormalsAreZero"),
    ("operands_unflushed", "before_ | kFlushToZero | kDenormalsAreZero",
     "before_ | kFlushToZero"),
    ("flushing_stays_on", "if (flush_) _mm_setcsr(before_);", ""),
    ("weights_begin_inside_a_block", "const size_t begin = block.begin / kBlock * kBlock;",
     "const size_t begin = block.begin;"),
    ("unguarded", "return values && NativeDotIsExact(worker.q_seen, tile.k_seen);",
     "return true;"),
    ("queries_unguarded",
     "worker.q_seen.Add( SeenIn(job.inputs->q, {row.place, row.place + 1}, row_of));",
     "(void)row_of;"),
    ("flushed_sums_unguarded",
     "const float least = flushes ? kMinNormalExponent : kMinBitExponent;",
     "const float least = kMinBitExponent;"),
    ("letter_of_empty_rows", "(row.letter && row.visible)", "row.letter"),
    ("exact_operands_unflushed", "return std::fabs(a) < kLeast ? std::copysign(0.0f, a) : a;",
     "return a;"),
    ("exact_parity_of_hidden_keys", "std::vector<float>& chain = chains[key % 2];",
     "std::vector<float>& chain = chains[key / 2 % 2];"),
)

if __name__ == "__main__":
    sys.exit(runner.main("order", MUTANTS,
                         units=("optimized/attention_forward.cc", "optimized/attention_tiles.cc", "optimized/matrix_check.cc", "optimized/attention_orders.cc"),
                         also=("optimized/plan.cc", "optimized/attention_forward.cc", "optimized/attention_tiles.cc"),
                         optimize="-O0"))
