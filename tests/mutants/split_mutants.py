#!/usr/bin/env python3
"""Mutants of the keys in parts (split=N, N22) and of their guards, before the
tests of them."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("scaled_by_one_step", "const float last = all < -126.0f ? -126.0f : all;",
     "const float last = all;"),
    ("rounded_twice", "hn::Mul(hn::Mul(hn::Mul(x, first), second), last)",
     "hn::Mul(hn::Mul(hn::Mul(x, last), second), first)"),
    ("nothing_is_left_too_soon", "kNothingLeft = -278.0f", "kNothingLeft = -126.0f"),
    ("guard_of_parts_forgotten", "!row.fixed && row.visible && !OnlineGuardHolds(",
     "!row.fixed && row.visible && job.problem->parts() == 1 && !OnlineGuardHolds("),
    ("letter_of_parts_forgotten", "row.letter |= own.letter;", ""),
    ("m_of_the_last_part", "row.m = std::max(row.m, own.m);", "row.m = own.m;"),
    ("keys_of_the_other_part", "if (!whole) { own = KeepBits", "if (false) { own = KeepBits"),
    ("tile_of_two_parts_is_full", "visit.kind == TileClass::kFull && whole &&",
     "visit.kind == TileClass::kFull &&"),
    ("a_part_is_left_out", "ForEachItem(job, count * parts, workers, sum_part);",
     "ForEachItem(job, count * parts - 1, workers, sum_part);"),
    ("exact_rows_in_one_part", "s < job.problem->parts(); ++s", "s < 1; ++s"),
    ("exact_m_of_the_row", "if (!fixed) part.m = max.m;", "if (!fixed) part.m = whole.m;"),
    ("bits_kept_one_too_many", "word &= below(end) & ~below(begin);",
     "word &= below(std::min<int64_t>(end + 1, 64)) & ~below(begin);"),
)

if __name__ == "__main__":
    sys.exit(runner.main("split", MUTANTS,
                         units=("optimized/attention_orders.cc", "optimized/attention_forward.cc"),
                         also=("optimized/plan.cc", "optimized/attention_forward.cc", "optimized/attention_tiles.cc"),
                         optimize="-O0"))
