// Tables of long rows: more pairs than can be looked at one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/case/case.h"
#include "verify/judge/judge.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// 2^34 pairs in tiles of 256 x 256, of which four documents and a window leave
// some 2 %.
constexpr const char* kLong =
    "block_plan sq=131072 skv=131072 mask=causal&window:4096,0 "
    "q_seg=runs:40000,300,60000,30772 kv_seg=runs:40000,300,60000,30772";

CaseResult JudgeLong(const std::string& spec, const std::string& more) {
  const Case c = ParseCase(kLong + more).value();
  const auto candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  const CaseRequest request = {.call = &c, .line = MinimalLine(c)};
  return JudgeCase(request, *candidate.value(), JudgeOptions(), nullptr);
}

TEST(BlockPlanLength, OurPlannerIsSound) {
  for (const char* spec : {"builtin:optimized", "builtin:reference"}) {
    const CaseResult result = JudgeLong(spec, "");
    EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
    ASSERT_EQ(result.canaries.size(), 1u);
    EXPECT_TRUE(result.canaries[0].caught);
  }
}

TEST(BlockPlanLength, PlantedDefectsAreNamed) {
  const struct {
    const char* mutant;
    const char* invariant;
    const char* more;
  } kRows[] = {
      {"captured_documents", "I13", ""},
      {"mask_next_late", "I4", ""},
      {"width_of_first_row", "I8", ""},
      {"document_minimum_only", "I2", ""},
      {"window_from_chunk_start", "I3", " bq=512"},
      {"dense_in_disguise", "I14", ""},
      {"transpose_loses_classes", "I5", ""},
      {"keys_from_grid_step", "I13", " dialect=splash blocks=no"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.mutant);
    const CaseResult result =
        JudgeLong(std::string("mutant:plan.") + row.mutant, row.more);
    EXPECT_EQ(result.verdict, Verdict::kFail) << result.reason;
    EXPECT_TRUE(std::any_of(
        result.findings.begin(), result.findings.end(),
        [&](const Finding& finding) { return finding.check == row.invariant; }))
        << result.reason;
  }
}

}  // namespace
}  // namespace lockstep::verify
