#!/usr/bin/env python3
"""Mutants of what names causes, before causes_test."""

import sys

import runner

E = "verify/causes/explain.cc"
F = "verify/causes/fit.cc"
H = "verify/causes/hypotheses.cc"
P = "verify/causes/pairs.cc"
T = "verify/causes/block_plan.cc"
X = "verify/causes/explanation.cc"

# name, source, text, replacement
MUTANTS = (
    ("far_places_weigh_more", F, "return std::min(distance * distance, 1.0);",
     "return distance * distance;"),
    ("nan_is_near", F, "all.left += left_ ? 1 : 0;", ""),
    ("one_row_proves", E, "kProvingRows = 2", "kProvingRows = 1"),
    ("nan_proves", E, "if (evidence.agree == 0)", "if (false)"),
    ("outputs_of_one_row_are_two", F, "rows.insert({down == nullptr ? \"\" : down, place}).second",
     "true"),
    ("what_a_kernel_lacks_counts", F,
     "if (profile != nullptr && !HasOutput(*profile, spec.name)) continue;", ""),
    ("errors_of_a_bug_are_free", F,
     "const double most = std::max(distances.wrong, distances.moved);",
     "const double most = distances.left + distances.wrong;"),
    ("no_bug_is_scoped", F, "if (on.empty() || on.size() == places.size()) return {};",
     "return {};"),
    ("bits_are_not_looked_at", F,
     "std::equal(produced[t].begin(), produced[t].end(),\n"
     "                                     bug[t].begin(), bug[t].end(), SameBits));",
     "true);"),
    ("alike_is_not_said", E, "if (!known && (other.answers == held.answers || roundings))",
     "if (false)"),
    ("a_right_answer_excuses_all", E,
     "if (!Says(fit, ground->produced.has_value())) return;",
     "if (!ground->produced.has_value() || !Says(fit, true)) return;"),
    ("little_is_unseen", E, "return wrong_answer &&", "return false &&"),
    ("tiles_are_not_compared", E, "    CompareWithTiles();\n", ""),
    ("numbers_for_infinity_by_bits", F,
     "Gap(at.produced, at.bug) <= kPlain * NoiseOf(spec_, at.bug, scale_)", "false"),
    ("a_right_answer_refutes_some_heads", E,
     "if (held->where.empty() || !wrong) return;",
     "if (held->where.empty()) return;"),
    ("worst_first", E, "if (std::fabs(more) > kSameShare) return more > 0;",
     "if (std::fabs(more) > kSameShare) return more < 0;"),
    ("dials_stay", E, "HoldAll(AtOtherDials(own_[turned_]));", ""),
    ("edges_stay", E, "if (Says(fit, true) && Left(fit.all) > kSameElsewhere) return true;",
     ""),
    ("anything_is_stated", E, "if (held_[n].Explained() < kCauseStated) break;", ""),
    ("another_ops_bug_first", H, "return one.bug->op() == op;",
     "return one.bug->op() != op;"),
    ("pairs_are_never_held", P, "  HoldAll(pairs);\n", ""),
    ("farthest_pairs_first", P, "return a.left < b.left;", "return a.left > b.left;"),
    ("pairs_lack_their_second", H, 'BugIn(first.spec) + "+" + BugIn(second.spec)',
     "BugIn(first.spec)"),
    ("rounded_up", X, "static_cast<int>(cause.explained * 1000)",
     "static_cast<int>(cause.explained * 1000 + 1)"),
    ("blocks_are_not_looked_at", T, "entries->push_back({pass, -1, 5, block, hash, 0, 0, 0});",
     ""),
    ("order_is_not_looked_at", T, "if (visit.outer != before) {", "if (false) {"),
)

if __name__ == "__main__":
    sys.exit(runner.main("causes", MUTANTS))
