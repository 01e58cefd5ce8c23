#!/usr/bin/env python3
"""Mutants of what names causes, before causes_test."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("far_places_weigh_more", "return std::min(distance * distance, 1.0);",
     "return distance * distance;"),
    ("nan_is_near", "all.left += left_ ? 1 : 0;", ""),
    ("one_row_proves", "kProvingRows = 2", "kProvingRows = 1"),
    ("nan_proves", "if (evidence.agree == 0)", "if (false)"),
    ("outputs_of_one_row_are_two", 'rows.insert({down == nullptr ? "" : down, place}).second',
     "true"),
    ("what_a_kernel_lacks_counts",
     "if (profile != nullptr && !HasOutput(*profile, spec.name)) continue;", "", "causes/"),
    ("errors_of_a_bug_are_free",
     "const double most = std::max(distances.wrong, distances.moved);",
     "const double most = distances.left + distances.wrong;"),
    ("no_bug_is_scoped", "if (on.empty() || on.size() == places.size()) return {};",
     "return {};"),
    ("bits_are_not_looked_at",
     "std::equal(produced[t].begin(), produced[t].end(), bug[t].begin(), bug[t].end(), "
     "SameBits));", "true);"),
    ("alike_is_not_said", "if (!known && (other.answers == held.answers || roundings))",
     "if (false)"),
    ("a_right_answer_excuses_all", "if (!Says(fit, ground->produced.has_value())) return;",
     "if (!ground->produced.has_value() || !Says(fit, true)) return;"),
    ("little_is_unseen", "return wrong_answer &&", "return false &&"),
    ("tiles_are_not_compared", "CompareWithTiles();", "", "explain.cc"),
    ("numbers_for_infinity_by_bits",
     "Gap(at.produced, at.bug) <= kPlain * NoiseOf(spec_, at.bug, scale_)", "false"),
    ("a_right_answer_refutes_some_heads", "if (held->where.empty() || !wrong) return;",
     "if (held->where.empty()) return;"),
    ("worst_first", "if (std::fabs(more) > kSameShare) return more > 0;",
     "if (std::fabs(more) > kSameShare) return more < 0;"),
    ("dials_stay", "HoldAll(AtOtherDials(own_[turned_]));", ""),
    ("edges_stay", "if (Says(fit, true) && Left(fit.all) > kSameElsewhere) return true;", ""),
    ("anything_is_stated", "if (held_[n].Explained() < kCauseStated) break;", ""),
    ("another_ops_bug_first", "return one.bug->op() == op;", "return one.bug->op() != op;"),
    ("pairs_are_never_held", "HoldAll(pairs);", ""),
    ("farthest_pairs_first", "return a.left < b.left;", "return a.left > b.left;"),
    ("pairs_lack_their_second", 'BugIn(first.spec) + "+" + BugIn(second.spec)',
     "BugIn(first.spec)"),
    ("rounded_up", "static_cast<int>(cause.explained * 1000)",
     "static_cast<int>(cause.explained * 1000 + 1)"),
    ("blocks_are_not_looked_at", "entries->push_back({pass, -1, 5, block, hash, 0, 0, 0});",
     ""),
    ("order_is_not_looked_at", "if (visit.outer != before) {", "if (false) {"),
)

if __name__ == "__main__":
    sys.exit(runner.main("causes", MUTANTS))
