#!/usr/bin/env python3
"""Mutants of the keys in parts (split=N, N22) and of their guards, before the
tests of them."""

import sys

import runner

A = "optimized/attention_split-inl.h"
E = "optimized/attention_exact-inl.h"
F = "optimized/attention_forward-inl.h"
D = "optimized/attention_forward.cc"
W = "optimized/attention_weights-inl.h"
B = "optimized/row_keys.cc"

# name, source, text, replacement
MUTANTS = (
    ("scaled_by_one_step", W,
     "const float last = all < -126.0f ? -126.0f : all;",
     "const float last = all;"),
    ("rounded_twice", W, "hn::Mul(hn::Mul(hn::Mul(x, first), second), last)",
     "hn::Mul(hn::Mul(hn::Mul(x, last), second), first)"),
    ("nothing_is_left_too_soon", W, "kNothingLeft = -278.0f",
     "kNothingLeft = -126.0f"),
    ("guard_of_parts_forgotten", F,
     "!row.fixed && row.visible &&\n        !OnlineGuardHolds(",
     "!row.fixed && row.visible && job.problem->parts() == 1 &&\n"
     "        !OnlineGuardHolds("),
    ("letter_of_parts_forgotten", A, "row.letter |= own.letter;", ""),
    ("m_of_the_last_part", A, "row.m = std::max(row.m, own.m);",
     "row.m = own.m;"),
    ("keys_of_the_other_part", F, "if (!whole) {\n      own = KeepBits",
     "if (false) {\n      own = KeepBits"),
    ("tile_of_two_parts_is_full", F,
     "visit.kind == TileClass::kFull && whole &&",
     "visit.kind == TileClass::kFull &&"),
    ("a_part_is_left_out", D, "ForEachItem(job, count * parts, workers, sum_part);",
     "ForEachItem(job, count * parts - 1, workers, sum_part);"),
    ("exact_rows_in_one_part", E, "s < job.problem->parts(); ++s",
     "s < 1; ++s"),
    ("exact_m_of_the_row", E, "if (!fixed) part.m = max.m;",
     "if (!fixed) part.m = whole.m;"),
    ("bits_kept_one_too_many", B, "word &= below(end) & ~below(begin);",
     "word &= below(std::min<int64_t>(end + 1, 64)) & ~below(begin);"),
)

if __name__ == "__main__":
    units = dict.fromkeys((A, F), D) | dict.fromkeys(
        (E, W), "optimized/attention_orders.cc")
    sys.exit(runner.main("split", MUTANTS, units,
                         also=("optimized/plan.cc", D, "optimized/attention_tiles.cc"),
                         optimize="-O0"))
