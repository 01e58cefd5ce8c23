#!/usr/bin/env python3
"""Mutants of the typed domains, before domain_test."""

import sys

import runner

A = "verify/domain/attention_forward/reduce.cc"
O = "verify/domain/attention_forward.cc"
N = "verify/domain/attention_forward/features.cc"
D = "verify/domain/block_plan.cc"
F = "verify/domain/block_plan/features.cc"
R = "verify/domain/block_plan/reduce.cc"

# name, source, text, replacement
MUTANTS = (
    ("another_draw", D, "if (draw->OneIn(24)) DrawFarAway",
     "if (draw->OneIn(25)) DrawFarAway"),
    ("illegal_draw", D, "if (!ValidateCase(c).ok()) p.segments = true;", ""),
    ("bits_of_others", F, "attention.has[SharedBits()[n]]",
     "attention.has[SharedBits()[n] + 1]"),
    ("never_beyond_int32", F, "Set(\"bound_beyond_int32\", bound > INT32_MAX)",
     "Set(\"bound_beyond_int32\", bound > INT64_MAX - 1)"),
    ("full_by_the_tile", F, "full += n == pairs;",
     "full += n == p_.tile_q * p_.tile_k;"),
    ("empty_row_by_columns", F, "rows.size()) < Rows()", "cols.size()) < Rows()"),
    ("one_difference_or_more", F, "mask.Differences(0, h) == 1",
     "mask.Differences(0, h) >= 1"),
    ("dialect_stays", R, "p->dialect = PlanDialect::kShrunk;\n", ";\n"),
    ("slack_stays", R, "p->slack = n;", ";"),
    ("segments_stay_ignored", R, "p->segments = true;", ";"),
    ("no_smaller_masks", A, "Try([&](AttentionForwardCase* a) { a->mask = mask; });",
     "(void)mask;"),
    ("another_order", O, "if (products_of_bf16 && draw->OneIn(2))",
     "if (products_of_bf16 && draw->OneIn(3))"),
    ("one_order_a_sequence", O, "if (products_of_bf16 && draw->OneIn(2))",
     "if (products_of_bf16 && (&c == &sequence[0] ? draw->OneIn(2) "
     ": sequence[0].Get<AttentionForwardCase>().order == ProductOrder::kAmx))"),
    ("order_of_wide_weights", O, "a.lane == Lane::kBf16 && a.p_lane == Lane::kBf16;",
     "a.lane == Lane::kBf16;"),
    ("order_stays", A, "a->order = ProductOrder::kChain;", ";"),
    ("order_is_no_feature", N, "Set(\"order_amx\", amx);", ";"),
    ("part_of_attention_only", R,
     "for (auto& of_mask : ReduceAttentionForward(sequence, call))",
     "for (auto& of_mask : std::vector<std::vector<Case>>())"),
)

if __name__ == "__main__":
    sys.exit(runner.main("domain", MUTANTS))
