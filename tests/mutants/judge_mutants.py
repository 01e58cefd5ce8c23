#!/usr/bin/env python3
"""Mutants of the verdict: tiers, power and canaries, before judge_test."""

import sys

import runner

A = "verify/ops/attention_forward_allowed.cc"
B = "verify/bounded.cc"
C = "verify/canary.cc"
J = "verify/judge.cc"
P = "verify/power.cc"
R = "verify/baselines.cc"

# name, source, text, replacement
MUTANTS = (
    ("findings_lost", B, "if (!found.Passed()) {", "if (false) {"),
    ("suspicion_lost", B, "else if (found.Suspicious()) {", "else if (false) {"),
    ("probes_not_judged", B,
     "JudgeByAllowed(trial, *allowed, outputs.value(), Tier::kProbes, line, "
     "result);", ""),
    ("first_probe_only", B, "if (!sound || (", "if (runs > 0 || ("),
    ("probes_tell_no_nulls", B,
     "RejectMore(trial, *allowed, &result->power);\n  return",
     "return"),
    ("lse_not_judged", A,
     "JudgeLse(envelope_, truth_, &rows_,", "JudgeLse(envelope_, {}, &rows_,"),
    ("masked_nan_overlooked", A, "if (!profile.masked_nan_safe &&",
     "if (profile.masked_nan_safe &&"),
    ("lane_overlooked", A, "*profile.lane != p.lane", "false"),
    ("everything_allowed", A,
     "      if (!envelope_.Output(truth_, n, c, slack)\n               .allowed",
     "      if (false && !envelope_.Output(truth_, n, c, slack)\n               .allowed"),
    ("nulls_always_rejected", P, "power_.rejected = !allowed_->Allows(n, row);",
     "power_.rejected = true;"),
    ("nothing_tells_apart", P,
     "return row.max_abs > kTellingUlp * unit * largest;", "return false;"),
    ("power_ignored", P, "if (!null.rejected && !null.same) {", "if (false) {"),
    ("zeros_ignored", P,
     'if (null.null == "zeros" && !null.rejected && null.same) {',
     "if (false) {"),
    ("canary_always_caught", C,
     "const bool caught = judged.verdict == Verdict::kFail;",
     "const bool caught = true;"),
    ("canary_that_is_right", C,
     "!FirstDifference(trial, *right, *wrong) ||\n"
     "        !FirstDifference(trial, *truth, *wrong)",
     "false"),
    ("suspicion_is_proof", J, "finding.tier != Tier::kCalibrated &&", ""),
    ("canary_is_proof", J, "finding.tier != Tier::kCalibrated &&\n"
     "                                finding.tier != Tier::kPower;",
     "finding.tier != Tier::kCalibrated;"),
    ("vacuous_is_pass", J, "if (!Vacuous() ||", "if (true ||"),
    ("undeclared_is_judged", J, "if (why.empty()) return true;",
     "if (true) return true;"),
    ("rules_turned", R, "passes[r]});", "!passes[r]});"),
)

if __name__ == "__main__":
    sys.exit(runner.main("judge", MUTANTS))
