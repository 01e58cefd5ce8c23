#!/usr/bin/env python3
"""Mutants of the verdict: tiers, power and canaries, before judge_test."""

import sys

import runner

N = "verify/judge/runs/again.cc"
A = "verify/ops/attention_forward/trial_allowed.cc"
B = "verify/judge/bounded.cc"
C = "verify/judge/evidence/canary.cc"
E = "verify/judge/evidence/evidence.cc"
F = "verify/candidate/probe_folders.cc"
I = "verify/judge/evidence/stage.cc"
G = "verify/judge/pictures/guilty_key.cc"
J = "verify/judge/judge.cc"
K = "verify/ops/attention_forward/trial_pictures.cc"
O = "verify/judge/rows.cc"
P = "verify/judge/evidence/power.cc"
R = "verify/judge/rules/baselines.cc"
T = "verify/base/text.cc"
V = "verify/judge/verdict.cc"

# name, source, text, replacement
MUTANTS = (
    ("further_runs_pass", N, "const bool passed = found.Passed();", "const bool passed = true;"),
    ("races_keep_the_name_of_a_check", N, "n < kRaceCalls", "n < 0"),
    ("laws_keep_bits", "verify/judge/laws.cc",
     "if (!repeats || MeetsSmallF16", "if (MeetsSmallF16"),
    ("any_key_is_named", G, "ChanceOf(key.share, row.keys, output.shape[3]) < kChance",
     "key.share >= 0"),
    ("keys_beside_o_are_not_blamed", K, "if (length_produced > length) {", "if (false) {"),
    ("probes_of_large_cases_blame_none", "verify/judge/suggestions.cc", "(own || TooLargeToExplain(*request_.call, *trial_))", "own"),
    ("keys_that_are_the_row_are_named", G, "(!key.visible || !key.heavy)", "true"),
    ("one_row_blames_a_key", G, "if (row.agree > 0 && 2 * row.agree >= row.asked) return true;",
     "if (StandsOut(row, picture.output)) return true;"),
    ("a_key_of_no_share_is_named", G, "key.share >= kCauseStated &&", "key.share > 0.01 &&"),
    ("witness_beyond_memory", J, "if (ours || Proven() || !HasRoomForWitness(*request_.call, memory)) return;",
     "if (ours || Proven()) return;"),
    ("findings_lost", B, "if (!found.Passed()) {", "if (false) {"),
    ("suspicion_lost", B, "else if (found.Suspicious()) {", "else if (false) {"),
    ("probes_not_judged", B,
     "JudgeByAllowed(*trial_, *allowed_, outputs_, Tier::kProbes, line_, result_);",
     ""),
    ("first_probe_only", B, "if (!sound || Stopped()) {",
     "if (!result_->probes_met.empty() || Stopped()) {"),
    ("probes_tell_no_nulls", B,
     "RejectMore(*trial_, *allowed_, false, &result_->power);", ""),
    ("answers_ahead_left", B, "if (ahead) next->Run();", ""),
    ("own_probe_like_any_case", P,
     "if (own_probe && std::any_of(", "if (false && std::any_of("),
    ("own_probe_by_values_alone", B,
     "RejectMore(trial, *allowed, true, &result->power);",
     "RejectMore(trial, *allowed, false, &result->power);"),
    ("idle_probes_count", B, "return fault || RejectsANull(trial, allowed);",
     "return true;"),
    ("open_outputs_pass", I, "if (!own || !found.MostlyOpen()) continue;",
     "continue;"),
    ("own_rows_only", J, "if (!truth_.sampled || Proven()) return;", "return;"),
    ("other_rows_not_compared", O,
     "if (lines.empty() || comparison.Passed()) continue;", "continue;"),
    ("other_rows_not_ranged", O,
     "if (lines.empty() || found.Passed()) continue;", "continue;"),
    ("canary_of_unmet_probes", J,
     "met.only_probes = result_.probes_met;", ""),
    ("one_fault_is_all", E, "if (!all) break;", "if (true) break;"),
    ("unshown_is_shown", E, "if (all) entry.shown_by = line;",
     "entry.shown_by = line;"),
    ("faults_of_unjudged_rows", E,
     "if (at == judge.rows->end() || *at != row) return std::nullopt;",
     "if (at == judge.rows->end()) return std::nullopt;"),
    ("key_too_dear", E,
     'const bool first_key = fault.kind == "key" && asked == 0;',
     "const bool first_key = false;"),
    ("unshown_files_pass", E, "if (rule.repeatable && !key) return;",
     "if (!key) return;"),
    ("unshown_key_passes", E, "if (rule.repeatable && !key) return;",
     "if (rule.repeatable) return;"),
    ("index_of_probes_unread", F,
     "if (named.ok() && named.value() == probe) return folder + name;", ""),
    ("options_not_replayed", V,
     'line += " " + ShellWord(word);', ""),
    ("profile_not_quoted", T, "return safe ? word : ShellQuote(word);",
     "return word;"),
    ("file_of_another_case_replayed", V,
     "return result.replay_candidate.empty() ? result.candidate\n",
     "return true ? result.candidate\n"),
    ("lse_not_judged", A,
     "JudgeLse(envelope_, truth_, &lines_,", "JudgeLse(envelope_, {}, &lines_,"),
    ("masked_nan_overlooked", A,
     "if (profile.masked_nan_safe == MaskedNan::kNo &&",
     "if (profile.masked_nan_safe == MaskedNan::kYes &&"),
    ("seen_nan_overlooked", A, "if (!finite && IsSeen(", "if (finite && IsSeen("),
    ("lane_overlooked", A, "*profile.lane != p.lane", "false"),
    ("everything_allowed", A,
     "      if (!envelope_.Output(truth_, n, c, slack)\n               .allowed",
     "      if (false && !envelope_.Output(truth_, n, c, slack)\n               .allowed"),
    ("nulls_always_rejected", P,
     "power_.rejected = !allowed_->Allows(n, {row});",
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
     "!Differ(trial, result->claims, *right, *wrong) ||\n"
     "        !Differ(trial, result->claims, *truth, *wrong)",
     "false"),
    ("suspicion_is_proof", J, "return !IsSuspicion(finding.tier) &&",
     "return true &&"),
    ("canary_is_proof", J, "return !IsSuspicion(finding.tier) &&\n"
     "                              finding.tier != Tier::kPower;",
     "return !IsSuspicion(finding.tier);"),
    ("vacuous_is_pass", J, "if (vacuous.empty() ||", "if (true ||"),
    ("undeclared_is_judged", J, "if (why.empty()) return true;",
     "if (true) return true;"),
    ("ranges_not_looked_at", O, "inside &= set.Contains(value);", "inside |= set.Contains(value);"),
    ("rules_turned", R, "passes[r]});", "!passes[r]});"),
)

if __name__ == "__main__":
    sys.exit(runner.main("judge", MUTANTS, optimize="-O0"))
