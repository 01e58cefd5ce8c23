#!/usr/bin/env python3
"""Mutants of the oracle, the envelopes and the probes, before oracle_test."""

import sys

import runner

V = "verify/envelope.cc"
H = "verify/envelope_judge.h"
J = "verify/envelope_judge.cc"
M = "verify/envelope_model.cc"
P = "verify/probes.cc"
O = "verify/oracle/attention_forward.cc"
S = "verify/oracle/visibility.cc"

# name, source, text, replacement
MUTANTS = (
    # Comparers.
    ("comparison_flipped", H, "if (!bounds.allowed.Contains(x)) {",
     "if (bounds.allowed.Contains(x)) {"),
    ("nan_passes", H, "if (!bounds.allowed.Contains(x)) {",
     "if (x < bounds.allowed.lo || x > bounds.allowed.hi) {"),
    ("one_sided_below", H, "if (!bounds.allowed.Contains(x)) {",
     "if (!(x <= bounds.allowed.hi || (x != x && bounds.allowed.nan))) {"),
    ("one_sided_above", H, "if (!bounds.allowed.Contains(x)) {",
     "if (!(x >= bounds.allowed.lo || (x != x && bounds.allowed.nan))) {"),
    ("sign_ignored", H, "if (!bounds.allowed.Contains(x)) {",
     "if (!bounds.allowed.Contains(x) && !bounds.allowed.Contains(-x)) {"),
    ("outside_not_counted", H, "++result_.outside;", ""),
    ("first_row_only", J, "r < count; ++r) {", "r < 1 && r < count; ++r) {"),
    ("last_row_skipped", J, "r < count; ++r) {", "r + 1 < count; ++r) {"),
    ("first_channel_only", J, "for (int64_t c = 0; c < channels; ++c) {",
     "for (int64_t c = 0; c < 1; ++c) {"),
    ("sample_at_wrong_place", J, "rows != nullptr ? (*rows)[r] :",
     "rows != nullptr ? static_cast<int64_t>(r) :"),
    ("heads_swapped", J, "row / shape[2] % shape[1],",
     "shape[1] - 1 - row / shape[2] % shape[1],"),
    ("everything_unbounded", H, "bounds.allowed.Unbounded()",
     "!bounds.allowed.Unbounded()"),
    ("lse_never_outside", J,
     "envelope.Lse(truth, r, &shares));",
     "{{-HUGE_VAL, HUGE_VAL, true}, {}, 0, 0, 0});"),
    # Rounding of the ends.
    ("ends_not_rounded", V, "const double rounded = Whole(steps, direction) * PowerOfTwo(unit);",
     "const double rounded = x;"),
    ("half_up", V, "(steps + 0x1.8p52) - 0x1.8p52;",
     "std::floor(steps + 0.5);"),
    ("through_f32", V, "const double steps = x * PowerOfTwo(-unit);",
     "const double steps = static_cast<float>(x) * PowerOfTwo(-unit);"),
    ("no_overflow", V, "return std::copysign(kInf, rounded);",
     "return std::copysign(Largest(lane), rounded);"),
    ("no_subnormals", V, "std::max(biased - 1023, -126)", "biased - 1023"),
    ("nan_bound_is_empty", V, "if (!(lo <= hi)) return kAnything;", ""),
    ("faithful_is_nearest", V, "if (rounding == Rounding::kFaithful) {",
     "if (false) {"),
    ("truncation_away_from_zero", V,
     "down = lo < 0 ? Direction::kUp : Direction::kDown;",
     "down = Direction::kDown;"),
    # Envelopes.
    ("tolerance_doubled", V,
     "(before + parts.division + 2 * model_.tiny + model_.flush) * kRoundUp;",
     "2 * (before + parts.division + 2 * model_.tiny + model_.flush);"),
    ("tolerance_ignored", V,
     "(before + parts.division + 2 * model_.tiny + model_.flush) * kRoundUp;",
     "kInf;"),
    ("tolerance_zero", V,
     "(before + parts.division + 2 * model_.tiny + model_.flush) * kRoundUp;", "0;"),
    ("tolerance_absolute", V,
     "(before + parts.division + 2 * model_.tiny + model_.flush) * kRoundUp;",
     "1e-2;"),
    ("weights_term_missing", V, "(parts.weights + parts.numerator +",
     "(parts.numerator +"),
    ("numerator_term_missing", V, "(parts.weights + parts.numerator +",
     "(parts.weights +"),
    ("division_term_missing", V,
     "parts.division = (size + before) * model_.division;",
     "parts.division = 0;"),
    ("nan_row_unjudged", V,
     "return profile_.nan == NanPolicy::kUnspecified;", "return true;"),
    ("empty_row_unjudged", V,
     "return profile_.empty_row == EmptyRow::kMeanVisited ||",
     "return profile_.empty_row != EmptyRow::kMeanVisited ||"),
    ("likely_is_allowed", V, "return std::min(error, (lambda_",
     "return std::max(2 * error, (lambda_"),
    ("lse_too_wide", V, "(sum + rounding + fixed + function + model_.flush)",
     "(1 + sum + rounding + fixed + function + model_.flush)"),
    ("lse_too_narrow", V, "(sum + rounding + fixed + function + model_.flush)",
     "0.0 * (sum + rounding + fixed + function + model_.flush)"),
    # What the profile says.
    ("p_ignored", M, "m_.numerator_weight = u;", "m_.numerator_weight = 0;"),
    ("p_squared", M, "m_.numerator_weight = u;",
     "m_.numerator_weight = u * u;"),
    ("tanh_ignored", M, "p_.tanh_rel + kU);", "kU);"),
    ("exp_ignored", M, "const double exp = p_.exp_rel + kU * 1.5;",
     "const double exp = kU;"),
    ("dot_ignored", M,
     "Add(kProduct, Cause::kAccQk, Gamma(steps.count, steps.unit));", ""),
    ("state_ignored", M, "Gamma(rescales + 1, state)", "0"),
    ("gamma_unguarded", M, "return x < 0.5 ? x / (1 - x) : kInf;",
     "return x / (1 - x);"),
    ("score_type_ignored", M, "Add(kScorePart, Cause::kScore, rounded);", ""),
    # Probes.
    ("probe_sum_of_all", P,
     "prefix[static_cast<size_t>(run.begin) * width + c]", "0"),
    ("probe_slack_huge", P, "low = 0x1p-21 +", "low = 1 +"),
    ("probe_split_for_all", P,
     "if (profile.normalise == Normalise::kEager || profile.splits != 1) {",
     "{"),
    ("probe_always_applies", P, "return \"the profile's sums are not in f32\";",
     'return "";'),
    ("probe_small_cap_applies", P,
     'return rest < 0x1p-20 ? ""', 'return rest < 1e300 ? ""'),
    # The oracle.
    ("mask_inverted", S, "if (dense(db, dh, i, j) != 0)",
     "if (dense(db, dh, i, j) == 0)"),
    ("segments_ignored", S, "if (!problem_.segments) return keys;",
     "return keys;"),
    ("valid_keys_ignored", S, "Range(0, inputs_.ValidKv(problem_, b))",
     "Range(0, problem_.kv_len)"),
    ("causal_off_by_one", S, "return Range(0, position + 1);",
     "return Range(0, position);"),
    ("chunk_early", S, "Range(ChunkStart(position, mask.chunk),",
     "Range(ChunkStart(position + 1, mask.chunk),"),
    ("sink_not_added", O, "sums->weight += p;", ""),
    ("sink_not_in_phi", O,
     "truth->phi_sum[place * dv + c] += phi * std::fabs(o[c]);", ""),
    ("kv_head_modulo", O, "flat % problem.q_heads / problem.group();",
     "flat % problem.q_heads % problem.kv_heads;"),
    ("all_minus_inf_is_empty", O, "(row.visible > 0 && row.max == -kInf);",
     "false;"),
    ("special_values_ignored", O, "if (std::isfinite(v[c])) continue;",
     "continue;"),
    ("rescales_ignored", O, "m.constant += row.rescales * m.rescale;", ""),
)

if __name__ == "__main__":
    sys.exit(runner.main("oracle", MUTANTS, {H: J}))
