#!/usr/bin/env python3
"""Mutants of the judge of merges: witness, bounds, rows, faults, probes, laws, before
attention_merge_judge_test."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("witness_of_one_base", "problem.base == LseBase::kTwo ? kNaturalUnit : 1.0", "1.0"),
    ("witness_factor", "part.share /= sum;", "part.share /= sum * 1.001;"),
    ("witness_forgets_posinf", "(posinf_is_empty && given == kInfinity)", "false"),
    ("witness_lse_of_the_largest", "truth.max + truth.log_sum", "truth.max"),
    ("nan_is_a_number", "nan = nan || !(given < kInfinity);", ""),
    ("every_answer_allowed", "if (!allowed.Contains(x)) return false;", ""),
    ("lse_not_judged", "return HasLse(profile_) ? 2 : 1;", "return 1;"),
    ("canaries_of_one_part", "if (ProbeOf(c) || c.parts < 2) return {};", ""),
    ("bound_thousand_times", "error *= kRoundUp;", "error *= 1000;", "attention_merge/"),
    ("bound_forgets_the_merged_lse", "error += LseError() + 3 * kU;", ""),
    ("bound_forgets_pairs", "error += merges_ * (LseError() + 2 * profile_.exp_rel + 6 * kU);",
     ""),
    ("bound_forgets_state", "merges_ * TypeError(profile_.state, Rounding::kNearest)", "0"),
    ("bound_forgets_differences", "error += merges_ * 8 * kU * of.largest;", ""),
    ("bound_forgets_weights_type", "TypeError(profile_.p, profile_.p_round);", "0;"),
    ("empty_rows_are_anything", "return unclaimed ? Unclaimed(value) : Only(value);",
     "return Unclaimed(value);"),
    ("posinf_marks_nothing", "!profile.exact && profile.empty_row == EmptyRow::kZeroPosInf",
     "false"),
    ("unread_parts_forbidden", "profile.masked_nan_safe != MaskedNan::kYes &&", ""),
    ("probe_of_equal_values", "if (kind_ == ProbeKind::kMergeSelect) { return",
     "if (kind_ == ProbeKind::kMergeSelect) { return 1 + 0 *"),
    ("marks_none", "draw[0] < Threshold(merge_.empty.value)", "false"),
    ("poison_none", "if (PoisonsEmptyParts(merge_)) PoisonEmpty();", ""),
    ("fault_of_no_part", "row->lse[static_cast<size_t>(second)] =",
     "if (false) row->lse[static_cast<size_t>(second)] ="),
    ("laws_none", "if (rows() > kLawWork / RowCost()) return {};", "return {};",
     "attention_merge/"),
    ("base_is_not_put", "if (options.binary_lse) {", "if (false) {"),
)

if __name__ == "__main__":
    sys.exit(runner.main("merge_judge", MUTANTS))
