#!/usr/bin/env python3
"""Mutants of the judge of a scan's gradients: witness, bounds, rows, probes, laws,
before mamba3_scan_backward_judge_test."""

import sys

import runner

A = "verify/ops/mamba3_scan_backward/allowed.cc"
B = "verify/ops/allowed_elements.cc"
C = "verify/inputs/mamba3_scan_backward.cc"
E = "verify/allowed/mamba3_scan_backward/envelope.cc"
K = "verify/oracle/mamba3_scan_backward/tokens.cc"
L = "verify/ops/mamba3_scan_backward/laws.cc"
R = "verify/ops/mamba3_scan_backward/rows.cc"
T = "verify/ops/mamba3_scan_backward/trial.cc"
V = "verify/ops/mamba3_scan/laws.cc"
W = "verify/oracle/mamba3_scan_backward/truth.cc"

# name, source, text, replacement
MUTANTS = (
    ("witness_factor", K, "d_v += psi * dx;", "d_v += psi * dx * Exactly(0.999);"),
    ("witness_beta", K, "const Num beta = w.alpha * w.before;",
     "const Num beta = w.before;"),
    ("witness_carry_of_run_0", W, "given.theta(at_.run, at_.head,",
     "given.theta(0, at_.head,"),
    ("bound_forgets_operands", E, "+ 8) +\n           operand;", "+ 8);"),
    ("bound_forgets_cotangent", E, "kU + OperandError(s, s.grad_do)", "kU"),
    ("bound_forgets_partials", E,
     "const double partial = ConversionTo(type);", "const double partial = 0;"),
    ("bound_forgets_turns", K, "u = Off(u, now.local_angle[s]);", ""),
    ("bound_thousand_times", E, "double error = sum.error +",
     "double error = 1000 * sum.error +"),
    ("first_output_alone", B, "t < judged_.outputs().size(); ++t) {\n    results",
     "t < 1; ++t) {\n    results"),
    ("every_answer_allowed", B, "allowed.Contains(x)) return false;",
     "allowed.Contains(x)) return true;"),
    ("empty_runs_judged", A, "const bool open = place.first == place.end &&",
     "const bool open = false &&"),
    ("empty_run_is_zero", R, "if (given.there()) {", "if (false) {"),
    ("row_of_all_heads", R, "const HeadRange heads{first, end};",
     "const HeadRange heads{0, problem_.forward.heads};"),
    ("probe_without_impulses", C, "if (status.ok() && ProbeOf(scan_)) {",
     "if (false) {"),
    ("canaries_of_none", A, "if (ProbeOf(scan())) return {};", "return {};"),
    ("null_keeps_dcarry", T, "scan.dcarry = false;", ""),
    ("work_without_ranks", T, "(again ? 18 : 16) * p.ranks", "(again ? 18 : 16)"),
    ("laws_none", L, "if (rows() > kLawWork / RowCost()) return {};", "return {};"),
    ("reach_changes_nothing", L, "if (at[2] >= cut * ranks) return;", "return;"),
    ("scale_is_one", L,
     "-1 - static_cast<int>(Draw(LawDraw::kScale, kMostHalvings))", "0"),
    ("heads_stay", V, "group * size + (head % size + by_head) % size", "head"),
)

if __name__ == "__main__":
    sys.exit(runner.main("scan_grad_judge", MUTANTS))
