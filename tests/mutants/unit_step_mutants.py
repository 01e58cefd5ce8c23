#!/usr/bin/env python3
"""Mutants of the steps of GPUs' matrix units (order=ampere, order=hopper, N21) in
vectors and in scalar code, before the tests of these orders."""

import sys

import runner

S = "optimized/attention_steps-inl.h"
U = "optimized/unit_step.h"
E = "optimized/attention_exact-inl.h"
F = "optimized/attention_forward-inl.h"

# name, source, text, replacement
MUTANTS = (
    ("half_a_step", S, "static_cast<size_t>(Unit::kStep.products);",
     "static_cast<size_t>(Unit::kStep.products) / 2;"),
    ("one_bit_less", S, "constexpr int kF = Unit::kStep.fraction;",
     "constexpr int kF = Unit::kStep.fraction - 1;"),
    ("terms_to_nearest", S, "hn::ConvertInRangeTo(di, hn::Mul(product, scale))",
     "hn::NearestInt(hn::Mul(product, scale))"),
    ("sums_to_nearest", S,
     "hn::IfThenElse(above, hn::Sub(bits, hn::Set(di, 1)), bits)",
     "hn::IfThenElse(above, bits, bits)"),
    ("sum_is_not_aligned_to", S, "const auto top = hn::Max(products, exponent);",
     "const auto top = hn::Max(products, hn::Min(products, exponent));"),
    ("low_products", S, "hn::Lt(top, hn::Set(di, kLeastTop))",
     "hn::Lt(top, hn::Set(di, kLeastTop - 60))"),
    ("high_products", S, "hn::Gt(top, hn::Set(di, kMostTop))",
     "hn::Gt(top, hn::Set(di, kMostTop + 200))"),
    ("products_of_zero_cut_the_sum", S,
     "hn::IfThenElse(hn::RebindMask(df, none), sums, left)",
     "hn::IfThenElse(hn::RebindMask(df, none), left, left)"),
    ("infinities_are_numbers", S, "hn::Set(di, kNoNumberExponent), exponent)",
     "exponent, exponent)"),
    ("one_vector_for_both", S, "hn::PromoteUpperTo(di, largest)",
     "hn::PromoteLowerTo(di, largest)"),
    ("values_begin_inside_a_step", S,
     "const size_t begin = block.begin / step * step;",
     "const size_t begin = block.begin;"),
    ("scores_go_on", S, "std::fill_n(scores + r * stride, panel, 0.0f);", ""),
    ("overflow_wraps", U, "uint64_t{255} << kF32Fraction", "~uint64_t{0}"),
    ("guard_one_below", F,
     "const float least = flushes ? kMinNormalExponent : kMinBitExponent;",
     "const float least = flushes ? kMinNormalExponent : kMinBitExponent - 1;"),
    ("large_sums", S, "const auto bad = hn::Or(large, outside);",
     "const auto bad = hn::Or(hn::AndNot(large, large), outside);"),
    ("subnormal_exponents", S, "hn::Max(field, hn::Set(di, 1))",
     "hn::Max(field, hn::Zero(di))"),
    ("zero_is_a_subnormal", U, "sum == 0 ? step.zero : exponent(sum)",
     "exponent(sum)"),
    ("exact_steps_of_visible_keys", E,
     "weights.back().first / step.products != key / step.products",
     "static_cast<int64_t>(weights.size()) == step.products"),
)

if __name__ == "__main__":
    units = dict.fromkeys((S, U, E, F), "optimized/attention_forward.cc")
    sys.exit(runner.main("unit_step", MUTANTS, units, also=("optimized/plan.cc",),
                         optimize="-O0"))
