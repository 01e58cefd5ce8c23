#!/usr/bin/env python3
"""Mutants of the judge of merges: witness, bounds, rows, faults, probes, laws, before
attention_merge_judge_test."""

import sys

import runner

A = "verify/ops/attention_merge/allowed.cc"
E = "verify/allowed/attention_merge/envelope.cc"
F = "verify/ops/attention_merge/faults.cc"
I = "verify/inputs/attention_merge.cc"
L = "verify/ops/attention_merge/laws.cc"
T = "verify/ops/attention_merge/trial.cc"
W = "verify/oracle/attention_merge/truth.cc"

# name, source, text, replacement
MUTANTS = (
    ("witness_of_one_base", W, "problem.base == LseBase::kTwo ? kNaturalUnit : 1.0",
     "1.0"),
    ("witness_factor", W, "part.share /= sum;", "part.share /= sum * 1.001;"),
    ("witness_forgets_posinf", W, "(posinf_is_empty && given == kInfinity)", "false"),
    ("witness_lse_of_the_largest", W, "truth.max + truth.log_sum", "truth.max"),
    ("nan_is_a_number", W, "nan = nan || !(given < kInfinity);", ""),
    ("every_answer_allowed", A, "if (!allowed.Contains(x)) return false;", ""),
    ("lse_not_judged", A, "return HasLse(profile_) ? 2 : 1;", "return 1;"),
    ("canaries_of_one_part", A, "if (ProbeOf(c) || c.parts < 2) return {};", ""),
    ("bound_thousand_times", E, "error *= kRoundUp;", "error *= 1000;"),
    ("bound_forgets_the_merged_lse", E, "error += LseError() + 3 * kU;", ""),
    ("bound_forgets_pairs", E,
     "error += merges_ * (LseError() + 2 * profile_.exp_rel + 6 * kU);", ""),
    ("bound_forgets_state", E, "merges_ * TypeError(profile_.state, Rounding::kNearest)",
     "0"),
    ("bound_forgets_differences", E, "error += merges_ * 8 * kU * of.largest;", ""),
    ("bound_forgets_weights_type", E, "TypeError(profile_.p, profile_.p_round);",
     "0;"),
    ("empty_rows_are_anything", E, "return unclaimed ? Unclaimed(value) : Only(value);",
     "return Unclaimed(value);"),
    ("posinf_marks_nothing", E,
     "!profile.exact && profile.empty_row == EmptyRow::kZeroPosInf", "false"),
    ("unread_parts_forbidden", E, "profile.masked_nan_safe != MaskedNan::kYes &&",
     ""),
    ("probe_of_equal_values", I, "if (kind_ == ProbeKind::kMergeSelect) {\n      return",
     "if (kind_ == ProbeKind::kMergeSelect) {\n      return 1 +  0 *"),
    ("marks_none", I, "draw[0] < Threshold(merge_.empty.value)", "false"),
    ("poison_none", I, "if (PoisonsEmptyParts(merge_)) PoisonEmpty();", ""),
    ("fault_of_no_part", F, "row->lse[static_cast<size_t>(second)] =\n",
     "if (false) row->lse[static_cast<size_t>(second)] =\n"),
    ("laws_none", L, "if (rows() > kLawWork / RowCost()) return {};", "return {};"),
    ("base_is_not_put", T, "if (options.binary_lse) {", "if (false) {"),
)

if __name__ == "__main__":
    sys.exit(runner.main("merge_judge", MUTANTS))
