#!/usr/bin/env python3
"""Mutants of the scan's judge: witnesses, bounds, probes, laws, before
scan_judge_test."""

import sys

import runner

A = "verify/ops/mamba3_scan/trial_allowed.cc"
B = "verify/oracle/mamba3_scan/truth.cc"
C = "verify/oracle/mamba3_scan/corotating.cc"
E = "verify/allowed/mamba3_scan/envelope.cc"
F = "verify/oracle/mamba3_scan/functions.cc"
J = "verify/judge/laws.cc"
H = "verify/oracle/mamba3_scan/head.cc"
K = "verify/inputs/mamba3_scan_pick.cc"
W = "verify/ops/mamba3_scan/laws_forward.cc"
L = "verify/ops/mamba3_scan/laws.cc"
G = "verify/inputs/mamba3_scan/probe.cc"
P = "verify/allowed/mamba3_scan/probes.cc"
Q = "verify/case/mamba3_scan/probe.cc"
R = "verify/oracle/mamba3_scan/readout.cc"
S = "verify/ops/mamba3_scan/laws_scale.cc"
U = "verify/ops/scale.cc"

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
     "e.sigmoid = s.sigmoid_rel + 2 * kU + ConversionTo(s.lambda);",
     "e.sigmoid = s.sigmoid_rel + 2 * kU;"),
    ("bound_forgets_state", E,
     "std::max(OperandError(s, s.score), OperandError(s, s.state))",
     "OperandError(s, s.score)"),
    ("bound_forgets_decayed", E, "+ OperandError(s, s.decayed);", ";"),
    ("operands_are_never_cut", E,
     "(s.operand_round == OperandRound::kTruncate ? 2 : 1)", "1"),
    ("nan_reaches_nothing", E,
     "profile.masked_nan_safe == MaskedNan::kNo ? chunk - 1 : 0", "0"),
    ("nan_need_not_show", E, "profile.nan == NanPolicy::kPropagate", "false"),
    ("angles_lose_nothing_added", E, "e->angle_step = 3.5 * kTwoPi * kU;",
     "e->angle_step = 350 * kTwoPi * kU;"),
    ("relabel_is_the_same", L, "CallOn(named, PickAll(trial_.data()))",
     "CallOn(request_, PickAll(trial_.data()))"),
    ("bound_forgets_rank_sum", E, "(kU + ConversionTo(s.rank_sum))", "kU"),
    ("bound_forgets_diagonal", E,
     "static_cast<double>(ranks + 3) * ConversionTo(s.diagonal)", "0"),
    ("bound_forgets_angle", E, "e->angle_store = StoredAngle(s.angle);", ""),
    ("bound_forgets_carried_angle", E,
     "e->carry_angle = StoredAngle(s.angle_carry) + 16 * kU;", ""),
    ("bound_forgets_carried_key", E, "e.carry_key = kU + ConversionTo(s.carry_key);",
     ""),
    ("bound_forgets_gate", E, "+ 8 * kU + ConversionTo(s.gate);", "+ 8 * kU;"),
    ("bound_ten_times", R, "truth_.y_error.push_back(sound ? bound",
     "truth_.y_error.push_back(sound ? 1000 * bound"),
    ("given_terms_never_overflow", B, "{&x_, &x_now_}", "{&x_now_, &x_now_}"),
    ("scaled_keys_never_overflow", R, "std::max(std::fabs(x), 1.0) * key",
     "std::fabs(x) * key"),
    ("angles_on_a_line", E,
     "bounds.truth += std::nearbyint(produced - bounds.truth);", ""),
    ("v_may_round", E, "bounds.error = 0;", "bounds.error = 1;"),
    ("carries_not_judged", A,
     "t < trial_.outputs().size(); ++t) {\n      if (!HasOutput",
     "t < 1; ++t) {\n      if (!HasOutput"),
    ("probe_carry_cancels", G, "(1 + 2 * (r % 2)) *", "(1 + 0 * r) *"),
    ("companion_forgets_biases", B, "return e_.param > 0 ?",
     "return e_.param > 1 ?"),
    ("canaries_of_probes", A, "ProbeOf(scan()) ||", "false ||"),
    ("canaries_without_probes", A,
     "!WhyNotScanProbe(ProbeKind::kIntegrate, data().problem).empty()",
     "false"),
    ("probe_is_wide", P, "kEighth = 0.125", "kEighth = 1"),
    ("probe_without_angles", Q,
     "if ((kind == ProbeKind::kTurns || kind == ProbeKind::kSpin) &&", "if (false &&"),
    ("probe_forgets_the_sines", P,
     "e.angle_step = e.angle_store = e.angle_start = e.angle_sum = 0;",
     "e.trig = 1;"),
    ("probe_d_of_every_head", G, "(int64_t{1} << h % 4)", "int64_t{1}"),
    ("probe_tau_of_every_token", G, "return Of(2, Use::kTau, b, h, t, 0) == 0;",
     "return false;"),
    ("normed_channel_unbounded", R,
     "if (holds && !(error[c] < most)) error[c] = most;", ""),
    ("wide_bounds_are_evidence", E,
     "bounds.vacuous = bounds.error > range + kNegligible;", ""),
    ("pairing_of_the_variant", H, "problem.mimo() != other_pairing",
     "problem.mimo()"),
    ("infinite_tau_is_broken", H, "token.finite = token.tau == token.tau;",
     "token.finite = std::isfinite(token.tau);"),
    ("empty_runs_are_judged", A,
     "profile_.scan->empty_run == EmptyRun::kUnspecified", "false"),
    ("causality_keeps_nothing", W, "if (t >= cut) token += t % cut - t;", ""),
    ("isolation_poisons_nothing", L,
     "PoisonScanRun(CounterGenerator(request_.gen, request_.seed), poisoned, &data);", ""),
    ("encoding_is_the_same", L, "CallOn(other, PickAll(trial_.data()))",
     "CallOn(request_, PickAll(trial_.data()))"),
    ("separate_keeps_nothing", L,
     "    KeepRun(0, run, &call);\n    law.calls", "    law.calls"),
    ("order_is_the_same", L, "1 + Draw(LawDraw::kRuns, size - 1)", "0"),
    ("split_hands_nothing_over", W,
     "static_cast<Mamba3ScanTrial*>(trial)->TakeCarry(done);", ""),
    ("heads_stay", L, "group * size + (head % size + by_head) % size", "head"),
    ("scale_is_one", S,
     "-1 - static_cast<int>(Draw(LawDraw::kScale, kMostHalvings))", "0"),
    ("scale_of_all", S, "linear ? exponent : 0", "exponent"),
    ("scale_underflows", U, "std::fetestexcept(FE_UNDERFLOW) == 0", "true"),
    ("scale_below_normal", "verify/judge/runs/kept.cc", "if (!plain(x) || !plain(scaled))",
     "if (!plain(x))"),
    ("law_bits_pass", J, "if (comparison.Passed()) continue;", "continue;"),
    ("law_envelopes_pass", J, "if (found.Passed()) return;", "return;"),
    ("laws_never_change", J, "request.most, request.salt)",
     "request.most, 0)"),
    ("pick_group", K, "head(at[1] * p.group()) / from_.problem.group()",
     "at[1]"),
    ("pick_rank", K, "token % length * ranks + at[2] % ranks",
     "token % length * ranks"),
    ("pick_run", K, "pick_.runs[static_cast<size_t>(at[0])]", "at[0]"),
)

if __name__ == "__main__":
    sys.exit(runner.main("scan_judge", MUTANTS))
