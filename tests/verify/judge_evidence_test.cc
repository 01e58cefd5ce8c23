// What a verdict rests on: open outputs, what candidates really met.
#include "verify/judge/evidence/stage.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/no_rows.h"
#include "verify/report/report.h"

namespace lockstep::verify {
namespace {

CaseResult Nearly(int64_t open, const char* tensor) {
  CaseResult result;
  result.line = "attention_forward";
  EnvelopeResult found;
  found.tensor = tensor;
  found.expected = 160;
  found.unbounded = open / 2;
  found.vacuous = open - open / 2;
  found.inside = 160 - open;
  EnvelopeResult first;
  first.tensor = "o";
  first.expected = first.inside = 99;
  result.judged.push_back({Tier::kEnvelope, result.line, first});
  result.judged.push_back({Tier::kEnvelope, result.line, found});
  return result;
}

TEST(OpenOutputs, EachOutputByItself) {
  for (const char* tensor : {"lse", "carry_h"}) {
    CaseResult result = Nearly(10, tensor);
    FindOpenOutputs("mine", NoRows(), &result);
    EXPECT_TRUE(result.findings.empty());
    result = Nearly(11, tensor);
    FindOpenOutputs("mine", NoRows(), &result);
    ASSERT_EQ(result.findings.size(), 1u);
    EXPECT_EQ(result.findings[0].tier, Tier::kPower);
    EXPECT_NE(result.findings[0].message.find(std::string(tensor) +
                                              ": 6.88 % of 160 elements"),
              std::string::npos)
        << result.findings[0].message;
  }
}

// Rows that the profile leaves open are no place for a known bug: here all but
// the last, which every kernel answers alike.
TEST(Canaries, AreNoBugsInRowsThatAreOpen) {
  JudgeOptions options = With("flash-bf16");
  options.profile->empty_row = EmptyRow::kUnspecified;
  const CaseResult result = JudgeSpec(
      "attention_forward sq=9 skv=1 d=16 lane=bf16 mask=causal align=br",
      "variant:flash", options);
  for (const Canary& canary : result.canaries) {
    EXPECT_TRUE(canary.caught) << canary.candidate;
  }
  for (const Finding& finding : result.findings) {
    EXPECT_NE(finding.check, "canary") << finding.message;
  }
}

// A weight of e^-100 is one of e^-7 where the others are of e^-93: less than
// the tanh of the profile is off by.
TEST(Canaries, AreNoBugsWithinWhatTheProfileLeavesOpen) {
  const CaseResult result = JudgeSpec(
      "attention_forward sq=33 skv=65 d=32 lane=bf16 cap=100 "
      "mask=blocks:33x1:0.5 align=65 fill=q.const:-20+k.uniform:1,2+v.normal:1 "
      "seed=60385",
      "variant:flash");
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
}

// Sums of weights in bf16: rows of more than 128 keys have no bound.
TEST(OpenOutputs, AreNotTrusted) {
  JudgeOptions options = With("flash-bf16");
  options.profile->acc_l.kind = Accumulator::Kind::kBf16;
  options.probes = options.canaries = options.invariance = false;
  const char* line =
      "attention_forward sq=512 skv=512 d=8 lane=bf16 mask=causal";
  const CaseResult right = JudgeSpec(line, "variant:flash", options);
  EXPECT_EQ(right.verdict, Verdict::kUntrusted) << right.reason;
  EXPECT_NE(right.reason.find("acc_l"), std::string::npos) << right.reason;
  RunStatistics statistics;
  statistics.Add(right);
  EXPECT_GT(statistics.unbounded, 1024);
  EXPECT_EQ(statistics.by_envelope + statistics.unbounded, 512 * 9);

  FakeCandidate nan(
      [](int64_t, const Variation&, const OutputSet& out, Execution*) {
        for (int64_t n = 140; n < 512; ++n) {
          ElementOf(out, 1, n) = std::numeric_limits<float>::quiet_NaN();
        }
        return RunOutcome{};
      });
  EXPECT_EQ(JudgeLine(line, nan, options).verdict, Verdict::kFail);
}

}  // namespace
}  // namespace lockstep::verify
