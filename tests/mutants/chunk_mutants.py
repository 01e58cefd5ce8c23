#!/usr/bin/env python3
"""Mutants of the chunked scan, before its twin, its bound and its NaN."""

import sys

import runner

LOOK = "const float look = ends ? s_.gamma[i] : s_.gamma[i] + s_.rest[i + 1];"
CHARGE = "if (first == task_.first && p_.carry_in) ChargeState();"

# name, text, replacement
MUTANTS = (
    ("look_ahead_over_the_end", LOOK, "const float look = s_.gamma[i] + s_.rest[i + 1];"),
    ("look_ahead_lost", LOOK, "const float look = s_.gamma[i];"),
    ("look_ahead_lost_at_the_edge", "first + count + 1, task_.end",
     "first + count, task_.end"),
    ("diagonal_with_look_ahead", "std::fill_n(s_.weight + own, p_.ranks, s_.gamma[i]);",
     "std::fill_n(s_.weight + own, p_.ranks, s_.look[own]);"),
    ("grid_of_the_run", "(t / job_.chunk + 1) * job_.chunk", "t + job_.chunk"),
    ("carry_not_charged", CHARGE, ""),
    ("charged_at_every_piece", CHARGE, "if (p_.carry_in) ChargeState();"),
    ("read_not_decayed", "hn::Set(d, s.reach[row + i])", "hn::Set(d, 1.0f)"),
    ("state_not_decayed", "const auto factor = hn::Set(d, reach);",
     "const auto factor = hn::Set(d, 1.0f);"),
    ("update_not_decayed", "s_.look[row] * s_.since[row]", "s_.look[row]"),
    ("weighed_k_in_the_carry", "KeepLast(count);", ""),
    ("reads_the_next_row", "p_.head_dim, end,", "p_.head_dim, end + 1,"),
    ("diagonal_of_one_rank", "const int64_t end = own + p_.ranks;",
     "const int64_t end = own + 1;"),
    ("another_fold", "l[s] += l[s + w];", "l[s] += l[2 * w - 1 - s];"),
)

if __name__ == "__main__":
    sys.exit(runner.main("chunk", MUTANTS, units=("optimized/mamba3_scan.cc",),
                         also=("optimized/plan.cc", "optimized/mamba3_tasks.cc"),
                         optimize="-O0"))
