#!/usr/bin/env python3
"""Mutants of the scan's judge: witnesses, bounds, probes, laws, before
scan_judge_test."""

import sys

import runner

A = "verify/ops/mamba3_scan_allowed.cc"
B = "verify/oracle/mamba3_scan.cc"
C = "verify/oracle/mamba3_corotating.cc"
E = "verify/scan_envelope.cc"
F = "verify/oracle/scan_functions.cc"
L = "verify/ops/mamba3_scan_laws.cc"
P = "verify/scan_probes.cc"
R = "verify/oracle/scan_readout.cc"

# name, source, text, replacement
MUTANTS = (
    ("witness_beta", B, "h += before * k_[r][n] * x_[r][c];",
     "h += own * k_[r][n] * x_[r][c];"),
    ("witness_decay", B, "      h *= alpha;\n", ""),
    ("witness_angle", B, "theta_[s] += rate;", "theta_[s] -= rate;"),
    ("corotating_order", C, "      frame_.Turn(back, &g);\n", ""),
    ("corotating_start", C, "  for (Vector& k : k_) frame_.Turn(back, &k);\n",
     ""),
    ("tanh_short", F, "if (y < 0.17) {", "if (y < 1.7) {"),
    ("cosine_sign", F, "return {c, -s};", "return {c, s};"),
    ("exp_low_part", F, "std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x))",
     "std::fma(-n, kLn2High, x)"),
    ("bound_forgets_decay_errors", B,
     "(1 + e_.exp) * (1 + e_.decay * std::fabs(token.a)) * (1 + e_.step)",
     "1.0"),
    ("bound_forgets_keys", B, "const double key = (1 + e_.key) * "
     "(1 + e_.scaled) - 1;", "const double key = 0;"),
    ("bound_forgets_lambda", E,
     "e.sigmoid = s.sigmoid_rel + 2 * kU + Cast(s.lambda);",
     "e.sigmoid = s.sigmoid_rel + 2 * kU;"),
    ("bound_forgets_state", E, "std::max(Cast(s.score), Cast(s.state))",
     "Cast(s.score)"),
    ("bound_forgets_decayed", E, "+ Cast(s.decayed);", ";"),
    ("bound_forgets_rank_sum", E, "(kU + Cast(s.rank_sum))", "kU"),
    ("bound_forgets_diagonal", E,
     "static_cast<double>(ranks + 3) * Cast(s.diagonal)", "0"),
    ("bound_forgets_angle", E, "e->angle_store = StoredAngle(s.angle);", ""),
    ("bound_forgets_carried_angle", E,
     "e->carry_angle = StoredAngle(s.angle_carry) + 16 * kU;", ""),
    ("bound_forgets_carried_key", E, "e.carry_key = kU + Cast(s.carry_key);",
     ""),
    ("bound_forgets_gate", E, "+ 8 * kU + Cast(s.gate);", "+ 8 * kU;"),
    ("bound_ten_times", R, "truth_.y_error.push_back(sound ? bound",
     "truth_.y_error.push_back(sound ? 1000 * bound"),
    ("angles_on_a_line", E,
     "bounds.truth += std::nearbyint(produced - bounds.truth);", ""),
    ("nan_is_bounded", B,
     "truth_.y_error.insert(truth_.y_error.end(), outputs, kInf);",
     "truth_.y_error.insert(truth_.y_error.end(), outputs, 0);"),
    ("v_may_round", E, "bounds.error = 0;", "bounds.error = 1;"),
    ("carries_not_judged", A,
     "t < trial_.outputs().size(); ++t) {\n      results.push_back",
     "t < 1; ++t) {\n      results.push_back"),
    ("probe_is_wide", P, "kind == ProbeKind::kTurns ? 0.25 : 0.125", "1.0"),
    ("probe_with_norm", P, 'if (problem.norm_epsilon) return "the output norm '
     'divides";', ""),
    ("probe_without_angles", P,
     'if (problem.angles == 0) return "there are no angles";', ""),
    ("causality_keeps_nothing", L, "other.seed += 1;", ""),
    ("isolation_poisons_nothing", L, "ScanOf(&other).poison = static_cast<int64_t>(poisoned);", ""),
    ("encoding_is_the_same", L,
     "for (const auto& run : runs_) scan.cu.push_back(run.end);",
     "scan.cu.push_back(p.length);"),
)

if __name__ == "__main__":
    sys.exit(runner.main("scan_judge", MUTANTS))
