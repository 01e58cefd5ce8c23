// Kernels whose runs differ: a race has one name, and a kernel that says that
// it is not deterministic is held against its envelope.
#include "verify/judge/runs/again.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_line.h"

namespace lockstep::verify {
namespace {

constexpr const char* kLine =
    "attention_forward hq=2 sq=12 skv=20 d=8 mask=causal align=br";

// Runs whose number `picks` takes have another first channel in each row: by
// one bit, or by `change`.
template <typename Picks>
CaseResult Judge(Picks picks, float change, const JudgeOptions& options) {
  FakeCandidate candidate(
      [&](int64_t run, const Variation&, const OutputSet& outputs, Execution*) {
        if (!picks(run)) return RunOutcome{};
        const auto& shape = outputs.tensors[0].view.shape;
        for (int64_t row = 0; row < shape[1] * shape[2]; ++row) {
          float& element = ElementOf(outputs, 0, row * shape[3]);
          change == 0 ? FlipBit(&element) : void(element += change);
        }
        return RunOutcome{};
      });
  return JudgeLine(kLine, candidate, options);
}

JudgeOptions Says(bool repeat) {
  JudgeOptions options = With("cpu-f32");
  options.profile->repeat = repeat;
  return options;
}

bool IsOdd(int64_t run) { return run % 2 == 1; }

const Check* CheckOf(const CaseResult& result, const std::string& name) {
  for (const Check& check : result.checks) {
    if (check.name == name) return &check;
  }
  return nullptr;
}

TEST(Again, OtherBitsFailWhereBitsArePromised) {
  const CaseResult result = Judge(IsOdd, 0, Says(true));
  EXPECT_EQ(result.verdict, Verdict::kFail);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].check, "repeat");
  EXPECT_EQ(result.findings[0].message.find("other bits when run again: o"), 0u)
      << result.findings[0].message;
  EXPECT_EQ(result.runs_again, 0);
}

TEST(Again, OtherBitsWithinTheEnvelopePassWhereNoneArePromised) {
  const CaseResult result = Judge(IsOdd, 0, Says(false));
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
  // The second run, three variations and two alignments.
  EXPECT_EQ(result.runs_again, 6);
  EXPECT_EQ(result.runs_apart, 3);
  EXPECT_TRUE(result.too_large.empty());
  for (const char* law : {"law_neighbours", "law_prefix"}) {
    const Check* const check = CheckOf(result, law);
    ASSERT_NE(check, nullptr) << law;
    EXPECT_TRUE(check->passed) << law;
  }
}

// Each run has its turn to be wrong: the second, those with other threads,
// tiles and addresses, and calls of laws.
TEST(Again, EveryRunIsHeldAgainstTheEnvelope) {
  const int64_t runs = Judge(IsOdd, 0, Says(false)).runs;
  int64_t laws = 0;
  for (int64_t wrong = 0; wrong < runs; ++wrong) {
    JudgeOptions options = Says(false);
    options.probes = options.canaries = options.evidence = false;
    const CaseResult result =
        Judge([&](int64_t run) { return run == wrong; }, 0.25f, options);
    if (result.runs <= wrong) break;
    EXPECT_EQ(result.verdict, Verdict::kFail) << wrong;
    ASSERT_FALSE(result.findings.empty()) << wrong;
    EXPECT_EQ(result.findings[0].tier, Tier::kEnvelope) << wrong;
    laws += LawOf(result.findings[0].check).empty() ? 0 : 1;
  }
  EXPECT_GT(laws, 3);
}

// Each run has its turn to write in front of its outputs, the second and all
// that come behind it: further runs, variations, and calls of laws.
TEST(Again, GuardsAreLookedAtInEveryRun) {
  for (const bool repeats : {true, false}) {
    const int64_t runs = Judge(IsOdd, 0, Says(false)).runs;
    int64_t broken = 0;
    for (int64_t wrong = 1; wrong < runs; ++wrong) {
      FakeCandidate candidate([&](int64_t run, const Variation&,
                                  const OutputSet& outputs, Execution*) {
        if (run == wrong) outputs.tensors[0].buffer.data()[-1] ^= 1;
        return RunOutcome{};
      });
      JudgeOptions options = Says(repeats);
      options.probes = options.canaries = options.evidence = false;
      const CaseResult result = JudgeLine(kLine, candidate, options);
      if (result.runs <= wrong) break;
      EXPECT_EQ(result.verdict, Verdict::kError) << wrong;
      ASSERT_FALSE(result.findings.empty()) << wrong;
      EXPECT_EQ(result.findings[0].check, "guard_zones") << wrong;
      ++broken;
    }
    EXPECT_GT(broken, 8);
  }
}

// One call in five is wrong, from the first on that the second run, a variation
// or a law of bits meets: whichever check meets it, the name is the race's.
TEST(Again, ARaceIsNamedRepeatWhicheverCheckMeetsIt) {
  for (int64_t first = 1; first < 8; ++first) {
    JudgeOptions options = Says(true);
    options.probes = options.canaries = options.evidence = false;
    const CaseResult result = Judge(
        [&](int64_t run) { return run >= first && (run - first) % 5 == 0; }, 0,
        options);
    EXPECT_EQ(result.verdict, Verdict::kFail) << first;
    ASSERT_FALSE(result.findings.empty()) << first;
    EXPECT_EQ(result.findings[0].check, "repeat") << first;
  }
}

// A kernel that is wrong with other threads alone keeps that name.
TEST(Again, WhatAChangeDoesKeepsItsName) {
  FakeCandidate candidate(
      [](int64_t, const Variation& how, const OutputSet& outputs, Execution*) {
        if (how.threads == 2) FlipBit(&ElementOf(outputs, 0, 5));
        return RunOutcome{};
      });
  const CaseResult result = JudgeLine(kLine, candidate, Says(true));
  EXPECT_EQ(result.verdict, Verdict::kFail);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].check, "threads");
}

// Judges a candidate whose answer to one probe is wrong. `wrong` counts probes
// from 0, and -1 is none; `apart`: it has a process of its own.
CaseResult JudgeApart(bool apart, int64_t wrong,
                      std::vector<std::string>* asked) {
  FakeCandidate* self = nullptr;
  int64_t probes = 0;
  FakeCandidate candidate(
      [&](int64_t, const Variation&, const OutputSet& outputs, Execution*) {
        const bool probe =
            self->asked.back().find("fill=probe") != std::string::npos;
        if (probe && probes++ == wrong) ElementOf(outputs, 0, 0) += 64;
        return RunOutcome{};
      });
  self = &candidate;
  candidate.apart = apart;
  JudgeOptions options = Says(true);
  options.canaries = false;
  CaseResult result = JudgeLine(kLine, candidate, options);
  *asked = candidate.asked;
  return result;
}

// The judge takes every answer that it has asked for, whatever the probe before
// has shown. Otherwise it would take it for the answer to the next question.
TEST(Ahead, AProbeIsAskedWhileTheOneBeforeIsJudged) {
  for (const int64_t wrong : {-1, 0, 2}) {
    std::vector<std::string> here, apart;
    const CaseResult plain = JudgeApart(false, wrong, &here);
    const CaseResult ahead = JudgeApart(true, wrong, &apart);
    EXPECT_EQ(plain.verdict, wrong < 0 ? Verdict::kPass : Verdict::kFail);
    EXPECT_EQ(ahead.verdict, plain.verdict) << ahead.reason;
    EXPECT_EQ(ahead.runs, plain.runs);
    EXPECT_EQ(ahead.probes_met, plain.probes_met);
    EXPECT_EQ(ahead.findings.size(), plain.findings.size());
    int64_t begun = 0;
    for (size_t n = 0; n < apart.size(); ++n) {
      if (!apart[n].starts_with("begin ")) continue;
      begun += apart[n].find("fill=probe") != std::string::npos;
      ASSERT_LT(n + 1, apart.size());
      EXPECT_EQ(apart[n + 1], "run " + apart[n].substr(6));
    }
    // The calls of laws do not count. If a probe fails, one more was asked.
    const auto met = static_cast<int64_t>(plain.probes_met.size());
    EXPECT_EQ(begun, wrong < 0 ? met : met + 1);
    EXPECT_GT(begun, 1);
  }
}

}  // namespace
}  // namespace lockstep::verify
