#!/usr/bin/env python3
"""Mutants of the typed domains, before domain_test."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("another_draw", "if (draw->OneIn(24)) DrawFarAway",
     "if (draw->OneIn(25)) DrawFarAway"),
    ("illegal_draw", "if (!ValidateCase(c).ok()) p.segments = true;", ""),
    ("bits_of_others", "attention.has[SharedBits()[n]]", "attention.has[SharedBits()[n] + 1]"),
    ("never_beyond_int32", 'Set("bound_beyond_int32", bound > INT32_MAX)',
     'Set("bound_beyond_int32", bound > INT64_MAX - 1)'),
    ("full_by_the_tile", "full += n == pairs;", "full += n == p_.tile_q * p_.tile_k;"),
    ("empty_row_by_columns", "rows.size()) < Rows()", "cols.size()) < Rows()"),
    ("one_difference_or_more", "mask.Differences(0, h) == 1", "mask.Differences(0, h) >= 1"),
    ("dialect_stays", "p->dialect = PlanDialect::kShrunk;", ";"),
    ("slack_stays", "p->slack = n;", ";"),
    ("segments_stay_ignored", "p->segments = true;", ";"),
    ("no_smaller_masks", "Try([&](AttentionForwardCase* a) { a->mask = mask; });",
     "(void)mask;"),
    ("another_order", "if (products_of_bf16 && draw->OneIn(2))",
     "if (products_of_bf16 && draw->OneIn(3))"),
    ("one_order_a_sequence", "if (products_of_bf16 && draw->OneIn(2))",
     "if (products_of_bf16 && (&c == &sequence[0] ? draw->OneIn(2) : "
     "sequence[0].Get<AttentionForwardCase>().order == ProductOrder::kAmx))"),
    ("order_of_wide_weights", "a.lane == Lane::kBf16 && a.p_lane == Lane::kBf16;",
     "a.lane == Lane::kBf16;", "attention_forward.cc"),
    ("order_stays", "a->order = ProductOrder::kChain;", ";"),
    ("order_is_no_feature", 'Set("order_amx", amx);', ";"),
    ("part_of_attention_only", "for (auto& of_mask : ReduceAttentionForward(sequence, call))",
     "for (auto& of_mask : std::vector<std::vector<Case>>())"),
)

if __name__ == "__main__":
    sys.exit(runner.main("domain", MUTANTS))
