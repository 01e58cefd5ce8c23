// Exit codes and their precedence; replay lines.
#include "verify/judge/verdict.h"

#include <gtest/gtest.h>

namespace lockstep::verify {
namespace {

CaseResult Of(Verdict verdict, Tier tier = Tier::kBits) {
  CaseResult result;
  result.verdict = verdict;
  if (verdict == Verdict::kError || verdict == Verdict::kFail) {
    result.findings.push_back({tier, "", "", "", std::nullopt});
  }
  return result;
}

CaseResult SkippedAs(Skip skip) {
  CaseResult result = Of(Verdict::kSkipped);
  result.skip = skip;
  return result;
}

int CodeOf(const std::vector<CaseResult>& results, bool fail_on = false,
           bool interrupted = false) {
  Totals totals;
  for (const CaseResult& result : results) totals.Add(result);
  totals.interrupted = interrupted;
  return ExitCode(totals, {.fail_on_suspicious = fail_on});
}

TEST(Verdict, EveryVerdictHasItsCode) {
  EXPECT_EQ(CodeOf({Of(Verdict::kPass)}), 0);
  EXPECT_EQ(CodeOf({Of(Verdict::kFail)}), 1);
  EXPECT_EQ(CodeOf({Of(Verdict::kError, Tier::kCandidate)}), 3);
  EXPECT_EQ(CodeOf({Of(Verdict::kSuspicious)}), 0);
  EXPECT_EQ(CodeOf({Of(Verdict::kSuspicious)}, true), 4);
  EXPECT_EQ(CodeOf({Of(Verdict::kUntrusted)}), 5);
  EXPECT_EQ(CodeOf({Of(Verdict::kError, Tier::kSelf)}), 6);
  EXPECT_EQ(CodeOf({SkippedAs(Skip::kUnsupported)}), 77);
  EXPECT_EQ(CodeOf({SkippedAs(Skip::kUndeclared)}), 5);
}

TEST(Verdict, NothingRunIsNeverAPass) {
  EXPECT_EQ(CodeOf({}), 5);
  EXPECT_EQ(
      CodeOf({SkippedAs(Skip::kUnsupported), SkippedAs(Skip::kUndeclared)}), 5);
  EXPECT_EQ(CodeOf({SkippedAs(Skip::kUnsupported), Of(Verdict::kPass)}), 0);
}

TEST(Verdict, PrecedenceIsSixThreeOneFiveFourZero) {
  std::vector<CaseResult> results = {Of(Verdict::kPass)};
  EXPECT_EQ(CodeOf(results, true), 0);
  results.push_back(Of(Verdict::kSuspicious));
  EXPECT_EQ(CodeOf(results, true), 4);
  results.push_back(Of(Verdict::kUntrusted));
  EXPECT_EQ(CodeOf(results, true), 5);
  results.push_back(Of(Verdict::kFail));
  EXPECT_EQ(CodeOf(results, true), 1);
  results.push_back(Of(Verdict::kError, Tier::kCandidate));
  EXPECT_EQ(CodeOf(results, true), 3);
  results.push_back(Of(Verdict::kError, Tier::kSelf));
  EXPECT_EQ(CodeOf(results, true), 6);
}

TEST(Verdict, InterruptedWithoutFindingsIs130) {
  EXPECT_EQ(CodeOf({Of(Verdict::kPass)}, false, true), 130);
  EXPECT_EQ(CodeOf({}, false, true), 130);
  EXPECT_EQ(CodeOf({Of(Verdict::kFail)}, false, true), 1);
}

TEST(Verdict, CountsAddUp) {
  Totals totals;
  for (const Verdict verdict :
       {Verdict::kPass, Verdict::kFail, Verdict::kSuspicious,
        Verdict::kUntrusted, Verdict::kSkipped, Verdict::kError}) {
    totals.Add(Of(verdict));
  }
  EXPECT_EQ(totals.cases, 6);
  EXPECT_EQ(totals.pass + totals.fail + totals.suspicious + totals.untrusted +
                totals.skipped + totals.error,
            totals.cases);
}

TEST(Verdict, ReplayLinesCanBePasted) {
  CaseResult result;
  result.replay_case = "attention_forward sq=3";
  result.candidate = "builtin:optimized";
  EXPECT_EQ(ReplayLine(result, {}), "lockstep verify 'attention_forward sq=3'");
  Finding finding;
  finding.candidate = "builtin:optimized@AVX2,tile=3x16";
  EXPECT_EQ(ReplayLine(result, finding),
            "lockstep verify 'attention_forward sq=3' --candidate "
            "'builtin:optimized@AVX2,tile=3x16'");
  result.candidate = "files:it's";
  result.profile = "exact-f32";
  EXPECT_EQ(ReplayLine(result, {}),
            "lockstep verify 'attention_forward sq=3' --candidate "
            "'files:it'\\''s' --profile exact-f32");
}

}  // namespace
}  // namespace lockstep::verify
