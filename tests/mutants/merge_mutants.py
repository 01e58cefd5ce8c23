#!/usr/bin/env python3
"""Mutants of the definition of a merge (N23), before its numbers worked out by hand."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("empty_parts_read", "if (part.lse == -kInfinity) continue;", ""),
    ("nan_is_skipped", "nan |= !(part.lse < kInfinity);",
     "if (part.lse != part.lse) continue;"),
    ("first_part_is_the_largest", "if (part.lse > m) m = part.lse;",
     "if (m == -kInfinity) m = part.lse;"),
    ("natural_base_alone", "if (base == LseBase::kE) d = d *", "d = d *"),
    ("binary_base_alone", "d = d * static_cast<float>(kLog2E);", "d = d;"),
    ("log_stays_binary", "log = log * static_cast<float>(kLn2);", "log = log;"),
    ("log_is_natural", "if (base == LseBase::kE) log =", "log ="),
    ("maximum_not_added", "return (m + log) + 0.0f;", "return log + 0.0f;"),
    ("sum_of_ones", "sum = sum + w;", "sum = sum + 1.0f;"),
    ("not_divided", "acc[c] / sum", "acc[c]"),
    ("lane_of_the_parts", "acc[c] / sum, problem.out_lane", "acc[c] / sum, problem.lane"),
    ("empty_row_has_lse_0", "*lse = nan ? kNaN : -kInfinity;", "*lse = nan ? kNaN : 0.0f;"),
    ("any_row", "at.row >= 0 && at.row < problem.rows", "at.row >= 0"),
)

if __name__ == "__main__":
    sys.exit(runner.main("merge", MUTANTS))
