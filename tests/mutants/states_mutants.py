#!/usr/bin/env python3
"""Mutants of the states of parts (N24) and of their join, which the tests of states have to kill."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("state_of_an_exact_row_is_fast", "|| row.letter) {", ") {"),
    ("state_of_bad_sums_is_fast", "if (!(sums_ok && sink_ok && usual)",
     "if (!(sink_ok && usual)"),
    ("small_state_has_usual_weights", "if (!(sums_ok && sink_ok && usual)",
     "if (!(sums_ok && sink_ok)"),
    ("small_state_of_the_fixed_path", "const bool fixed = row.fixed && !small;",
     "const bool fixed = row.fixed;"),
    ("state_of_a_bad_sink_is_none", "if (max.bad) {", "if (max.nan) {"),
    ("state_of_no_key_is_a_sum",
     "return StoreState(job, batch, row, -kInfinity, -kInfinity, acc);",
     "return StoreState(job, batch, row, row.m, l, acc);"),
    ("join_of_usual_weights_alone",
     "if (!missing) return AddParts(Load(small, at, kRedoShift, &nan));",
     "if (!missing) return AddParts(Load(parts, at, kRedoShift, &nan));"),
    ("join_forgets_rows_of_minus_infinity", "if (all) return FinishNaNRow(o, lse), false;",
     ""),
    ("join_reads_unseen_parts", "if (l == -kInfinity) continue;", ""),
    ("join_on_the_other_path", "TakesFixedPath(problem, sink) ? 0.0f : kWeightShift;",
     "kWeightShift;"),
)

if __name__ == "__main__":
    sys.exit(runner.main("states", MUTANTS, units=("optimized/attention_forward.cc",),
                         also=("optimized/plan.cc", "optimized/attention_forward.cc", "optimized/attention_tiles.cc"),
                         optimize="-O0"))
