#!/usr/bin/env python3
"""Mutants of a step whose state stays where it lies, before the scan's bits."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("read_out_of_one_column", "hn::Set(d, q[i]), square[i], sum",
     "hn::Set(d, q[i]), square[0], sum"),
    ("state_of_the_token_before", "hn::Set(d, of_rank[s.x_stride])", "hn::Set(d, of_rank[0])"),
    ("not_canonical", "hn::StoreU(CanonicalNaN(d, state), d,", "hn::StoreU(state, d,"),
    ("squares_that_do_not_fit", "p.state_dim % lanes == 0", "true"),
    ("blocks_of_two_misplaced", "rows[kQuad + i] = hn::ConcatUpperUpper(d, high, low);",
     "rows[kQuad + i] = hn::ConcatUpperUpper(d, low, high);"),
)

if __name__ == "__main__":
    sys.exit(runner.main("step", MUTANTS, units=("optimized/mamba3_scan.cc",),
                         also=("optimized/plan.cc", "optimized/mamba3_tasks.cc"),
                         optimize="-O0"))
