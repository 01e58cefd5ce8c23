#!/usr/bin/env python3
"""Mutants of the judge of a scan's gradients: witness, bounds, rows, probes, laws,
before mamba3_scan_backward_judge_test."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("witness_factor", "d_v += psi * dx;", "d_v += psi * dx * Exactly(0.999);"),
    ("witness_beta", "const Num beta = w.alpha * w.before;", "const Num beta = w.before;"),
    ("witness_carry_of_run_0", "given.theta(at_.run, at_.head,", "given.theta(0, at_.head,"),
    ("bound_forgets_operands", "+ 8) + operand;", "+ 8);"),
    ("bound_forgets_cotangent", "kU + OperandError(s, s.grad_do)", "kU"),
    ("bound_forgets_partials", "const double partial = ConversionTo(type);",
     "const double partial = 0;"),
    ("bound_forgets_turns", "u = Off(u, now.local_angle[s]);", ""),
    ("bound_thousand_times", "double error = sum.error +",
     "double error = 1000 * sum.error +"),
    ("first_output_alone", "t < judged_.outputs().size(); ++t) { results",
     "t < 1; ++t) { results"),
    ("every_answer_allowed", "allowed.Contains(x)) return false;",
     "allowed.Contains(x)) return true;", "allowed_elements.cc"),
    ("empty_runs_judged", "const bool open = place.first == place.end &&",
     "const bool open = false &&"),
    ("empty_run_is_zero", "if (given.there()) {", "if (false) {"),
    ("row_of_all_heads", "const HeadRange heads{first, end};",
     "const HeadRange heads{0, problem_.forward.heads};"),
    ("probe_without_impulses", "if (status.ok() && ProbeOf(scan_)) {", "if (false) {"),
    ("canaries_of_none", "if (ProbeOf(scan())) return {};", "return {};"),
    ("null_keeps_dcarry", "scan.dcarry = false;", ""),
    ("work_without_ranks", "(again ? 18 : 16) * p.ranks", "(again ? 18 : 16)"),
    ("laws_none", "if (rows() > kLawWork / RowCost()) return {};", "return {};",
     "mamba3_scan_backward/"),
    ("reach_changes_nothing", "if (at[2] >= cut * ranks) return;", "return;"),
    ("scale_is_one", "-1 - static_cast<int>(Draw(LawDraw::kScale, kMostHalvings))", "0",
     "mamba3_scan_backward/"),
    ("heads_stay", "group * size + (head % size + by_head) % size", "head"),
)

if __name__ == "__main__":
    sys.exit(runner.main("scan_grad_judge", MUTANTS))
