// The judge of candidates that claim a profile: envelopes, probes, power and
// canaries, each with a defect that it finds.
#include "verify/judge/bounded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_line.h"
#include "verify/judge/judge.h"

namespace lockstep::verify {
namespace {

constexpr const char* kCase =
    "attention_forward hq=4 hkv=2 sq=20 skv=40 d=8 cap=30 mask=causal align=br "
    "seed=3";

int64_t Judgements(const CaseResult& result, Tier tier) {
  int64_t n = 0;
  for (const Judged& judged : result.judged) n += judged.tier == tier ? 1 : 0;
  return n;
}

const Finding* Find(const CaseResult& result, Tier tier) {
  for (const Finding& finding : result.findings) {
    if (finding.tier == tier) return &finding;
  }
  return nullptr;
}

TEST(Bounded, CorrectKernelsPassUnderTheirProfile) {
  for (const char* spec : {"variant:cpu", "variant:cpu-split3",
                           "builtin:optimized", "builtin:reference"}) {
    const CaseResult result = JudgeSpec(kCase, spec, With("cpu-f32"));
    EXPECT_EQ(result.verdict, Verdict::kPass) << spec << ": " << result.reason;
    EXPECT_EQ(Judgements(result, Tier::kEnvelope), 2) << spec;
    // Nine probes of o and lse: with a cap of 30 there is neither shift nor
    // deep, without sinks no sink, with several rows no thirds-next.
    EXPECT_EQ(Judgements(result, Tier::kProbes), 18) << spec;
    for (const Baseline& rule : result.baselines) {
      EXPECT_TRUE(rule.passes || rule.rule == "max_ulp") << rule.rule;
    }
    EXPECT_EQ(result.baselines.size(), 5u);
  }
}

TEST(Bounded, AVariantBringsItsProfile) {
  const CaseResult result = JudgeSpec(kCase, "variant:cpu");
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
  ASSERT_TRUE(result.claims.has_value());
  EXPECT_FALSE(result.claims->exact);
  EXPECT_EQ(result.profile, "");
}

TEST(Bounded, WrongArithmeticLeavesTheEnvelope) {
  for (const char* spec :
       {"mutant:attn.tanh_coarse,base=cpu", "mutant:attn.p_bf16,base=cpu",
        "mutant:attn.cap_twice,base=cpu"}) {
    const CaseResult result = JudgeSpec(kCase, spec);
    EXPECT_EQ(result.verdict, Verdict::kFail) << spec;
    ASSERT_NE(Find(result, Tier::kEnvelope), nullptr) << spec;
    EXPECT_TRUE(Find(result, Tier::kEnvelope)->envelope.has_value());
  }
}

// Two rows so long that one key of ordinary data weighs less than the rounding
// of bf16 weights: the envelope must let it pass, the probes must not.
CaseResult JudgeLongRows(int keys, const std::string& spec, bool probes) {
  JudgeOptions options;
  options.invariance = false;
  options.canaries = false;
  options.probes = probes;
  return JudgeSpec("attention_forward sq=2 skv=" + std::to_string(keys) +
                       " d=8 dv=4 lane=bf16 mask=causal align=br seed=1",
                   spec, options);
}

TEST(Bounded, ASingleKeyAmongManyIsFoundByProbes) {
  constexpr int kKeys = 16384;
  int unseen = 0;  // without probes
  for (const char* name : {"drop_last_key", "leak_masked_key",
                           "double_edge_key", "v_row_off_by_one"}) {
    const std::string spec = std::string("mutant:attn.") + name + ",base=flash";
    const CaseResult blind = JudgeLongRows(kKeys, spec, false);
    const CaseResult result = JudgeLongRows(kKeys, spec, true);
    EXPECT_EQ(result.verdict, Verdict::kFail) << spec;
    if (blind.verdict == Verdict::kFail) continue;
    ++unseen;
    const Finding* finding = Find(result, Tier::kProbes);
    ASSERT_NE(finding, nullptr) << spec;
    EXPECT_NE(finding->line.find("fill=probe:"), std::string::npos);
    EXPECT_NE(ReplayLine(result, *finding).find(finding->line),
              std::string::npos);
  }
  EXPECT_GT(unseen, 0);
  EXPECT_EQ(JudgeLongRows(kKeys, "variant:flash", true).verdict,
            Verdict::kPass);
}

// A suite of its own, so that the judge's mutants can leave out its second.
TEST(BoundedLongest, ASingleKeyAmong131072IsFoundByProbes) {
  const CaseResult result =
      JudgeLongRows(131072, "mutant:attn.drop_last_key,base=flash", true);
  EXPECT_EQ(result.verdict, Verdict::kFail);
  EXPECT_NE(Find(result, Tier::kProbes), nullptr);
  const CaseResult blind =
      JudgeLongRows(131072, "mutant:attn.drop_last_key,base=flash", false);
  EXPECT_NE(blind.verdict, Verdict::kFail);
}

TEST(Bounded, ProbesCanBeLeftOut) {
  JudgeOptions options = With("cpu-f32");
  options.probes = false;
  const CaseResult result = JudgeSpec(kCase, "variant:cpu", options);
  EXPECT_EQ(Judgements(result, Tier::kProbes), 0);
}

// What cannot be run again is judged on its own inputs only, which may be a
// probe's.
// deep is there for where a maximum starts: its values are the same in every
// key, so that keys lost and means of all of them pass, and it counts as no
// evidence. The other eleven do.
TEST(Bounded, AProbeThatWouldShowNothingIsNoEvidence) {
  const CaseResult result =
      JudgeSpec("attention_forward sq=1 skv=1 d=16", "variant:cpu");
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
  std::string idle;
  int64_t shown = 0;
  for (const Judged& judged : result.judged) {
    if (judged.tier != Tier::kProbes || judged.result.tensor != "o") continue;
    shown += judged.evidence ? 1 : 0;
    if (!judged.evidence) idle += judged.line;
  }
  EXPECT_EQ(idle, "attention_forward sq=1 skv=1 d=16 fill=probe:deep");
  EXPECT_EQ(shown, 11);
}

// What a replay line of a finding names: a right kernel passes every probe as a
// case of its own, and one that starts its maximum at 0 fails deep.
TEST(Bounded, AProbeIsACaseOfItsOwn) {
  for (const char* shape :
       {"sq=1 skv=40 d=16", "sq=24 skv=64 d=64 mask=causal align=br"}) {
    for (const char* probe : {"cancel", "shift", "comb", "holes", "deep"}) {
      const std::string line = std::string("attention_forward hq=2 ") + shape +
                               " fill=probe:" + probe;
      for (const auto& [spec, lane] :
           {std::pair{"variant:cpu", ""},
            std::pair{"variant:flash", " lane=bf16 p=bf16"}}) {
        const CaseResult result = JudgeSpec(line + lane, spec);
        EXPECT_EQ(result.verdict, Verdict::kPass)
            << line << lane << ": " << result.reason;
      }
    }
    const CaseResult result = JudgeSpec(
        std::string("attention_forward ") + shape + " fill=probe:deep",
        "mutant:attn.max_init_zero,base=cpu");
    EXPECT_EQ(result.verdict, Verdict::kFail) << result.reason;
  }
}

TEST(Bounded, AnswersFromElsewhere) {
  FakeCandidate candidate([](int64_t, const Variation&, const OutputSet&,
                             Execution*) { return RunOutcome{}; });
  candidate.repeatable = false;
  CaseResult result = JudgeLine(kCase, candidate, With("cpu-f32"));
  // One key may weigh less than the profile's roundings.
  EXPECT_EQ(result.verdict, Verdict::kUntrusted) << result.reason;
  EXPECT_NE(result.reason.find("--probes"), std::string::npos) << result.reason;
  EXPECT_EQ(candidate.runs, 1);
  result = JudgeLine(std::string(kCase) + " fill=probe:cancel", candidate,
                     With("cpu-f32"));
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
  EXPECT_EQ(Judgements(result, Tier::kProbes), 2);
}

// Steps away from the truth are first legal, then unlikely, then illegal.
TEST(Bounded, SuspiciousLiesBetweenPassAndFail) {
  Verdict last = Verdict::kPass;
  int64_t suspicious = 0;
  int steps = 0;
  for (; steps < 1 << 24 && last != Verdict::kFail; steps += 1 + steps / 2) {
    FakeCandidate candidate(
        [steps](int64_t, const Variation&, const OutputSet& out, Execution*) {
          float& element = ElementOf(out, 0, 3);
          element = std::bit_cast<float>(std::bit_cast<uint32_t>(element) +
                                         static_cast<uint32_t>(steps));
          return RunOutcome{};
        });
    JudgeOptions options = With("cpu-f32");
    options.probes = false;
    options.canaries = false;
    options.invariance = false;
    last = JudgeLine("attention_forward sq=1 skv=300 d=64 seed=5", candidate,
                     options)
               .verdict;
    if (suspicious > 0) {
      EXPECT_NE(last, Verdict::kPass) << steps;
    }
    suspicious += last == Verdict::kSuspicious ? 1 : 0;
  }
  EXPECT_EQ(last, Verdict::kFail) << "no step was too far";
  EXPECT_GT(suspicious, 0);
}

TEST(Bounded, WhatAProfileDoesNotCoverIsSkipped) {
  EXPECT_EQ(JudgeSpec(kCase, "variant:flash").skip, Skip::kUndeclared);
  const std::string poisoned =
      "attention_forward sq=9 skv=9 d=8 lane=bf16 mask=window:2,2 "
      "valid_kv=5 fill=poison:masked";
  EXPECT_EQ(JudgeSpec(poisoned, "variant:splash").skip, Skip::kUndeclared);
  EXPECT_EQ(JudgeSpec(poisoned, "variant:flash").verdict, Verdict::kPass);
  // Sums of such values may overflow in any f32 kernel.
  const std::string huge = "attention_forward sq=2 skv=9 d=8 fill=v.const:3e38";
  const CaseResult open = JudgeSpec(huge, "variant:cpu");
  EXPECT_EQ(open.skip, Skip::kUndeclared);
  EXPECT_EQ(open.reason, "profile cpu bounds nothing of o on these inputs");
}

// A profile that allows nearly everything: the nulls and the canary tell.
TEST(Bounded, AProfileThatAllowsTooMuchIsNotTrusted) {
  JudgeOptions options = With("cpu-f32");
  options.profile->exp_rel = 0.01;
  options.probes = false;
  options.canaries = false;
  const CaseResult result = JudgeSpec(kCase, "variant:cpu", options);
  EXPECT_EQ(result.verdict, Verdict::kUntrusted) << result.reason;
  EXPECT_TRUE(std::any_of(
      result.findings.begin(), result.findings.end(),
      [](const Finding& finding) { return finding.check == "nulls"; }));

  // Without a cap the probes reject every null, whatever the envelope allows.
  options.profile->exp_rel = 0.003;
  options.probes = true;
  const CaseResult probed = JudgeSpec(
      "attention_forward sq=20 skv=40 d=8 mask=causal align=br seed=3",
      "variant:cpu", options);
  EXPECT_EQ(probed.verdict, Verdict::kPass) << probed.reason;

  // Wider still, and hardly any answer could fail.
  options.profile->exp_rel = 0.3;
  options.probes = false;
  options.canaries = true;
  const CaseResult gate = JudgeSpec(kCase, "variant:cpu", options);
  ASSERT_EQ(gate.canaries.size(), 1u);
  EXPECT_FALSE(gate.canaries[0].caught);
  EXPECT_EQ(gate.verdict, Verdict::kUntrusted);
  EXPECT_EQ(Find(gate, Tier::kPower)->check, "unbounded");
}

TEST(Bounded, ACanaryIsCaughtInTheExactTier) {
  const CaseResult result = JudgeSpec(kCase, "builtin:reference");
  ASSERT_EQ(result.canaries.size(), 1u);
  EXPECT_TRUE(result.canaries[0].caught);
  EXPECT_EQ(result.verdict, Verdict::kPass);
}

// Masked keys that are capped weigh exp(-30) here, less than a rounding: that
// canary is within its rights, and makes way for another one.
TEST(Bounded, ACanaryThatOnlyRoundsDifferentlyMakesWay) {
  const CaseResult result = JudgeSpec(
      "attention_forward hq=2 hkv=1 sq=5 skv=9 d=8 cap=30 mask=causal "
      "seed=1713",
      "variant:cpu", With("cpu-f32"));
  ASSERT_EQ(result.canaries.size(), 1u);
  EXPECT_TRUE(result.canaries[0].caught);
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
}

// Without a mask most canaries compute what is right: one that does is none,
// and each of these seeds begins the search at another of the seven.
TEST(Bounded, ACanaryThatIsRightMakesWay) {
  std::set<std::string> canaries;
  for (int seed = 1; seed <= 16; ++seed) {
    const CaseResult result = JudgeSpec(
        "attention_forward sq=3 skv=3 d=2 seed=" + std::to_string(seed),
        "builtin:reference");
    ASSERT_EQ(result.canaries.size(), 1u) << seed;
    EXPECT_TRUE(result.canaries[0].caught) << result.canaries[0].candidate;
    EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
    canaries.insert(result.canaries[0].candidate);
  }
  EXPECT_GT(canaries.size(), 1u);
}

}  // namespace
}  // namespace lockstep::verify
