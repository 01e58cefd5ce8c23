// One row for an op: an op that nothing else knows is judged, fuzzed, shrunk,
// exported, read back and selftested by its rows alone.
#include "tests/fuzz/toy_op.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "fuzz/run.h"
#include "fuzz/shrink.h"
#include "fuzz/trial.h"
#include "verify/report/export.h"
#include "verify/run/run.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify {
namespace {

fuzz::Target Kernel(const char* spec) {
  return fuzz::Target::Open(spec, "").value();
}

TEST(ToyOp, IsJudgedShrunkAndExportedByItsRow) {
  const fuzz::Target bad = Kernel("builtin:optimized");
  fuzz::Target good = Kernel("builtin:reference");
  const Case c = ParseCase("row_softmax rows=5 n=9 seed=3", kRows).value();
  EXPECT_EQ(TryCase({c}, good, 1).verdict, Verdict::kPass);
  const fuzz::Outcome found = TryCase({c}, bad, 1);
  EXPECT_EQ(found.signature, "bits:y") << found.message;
  EXPECT_EQ(MinimalLine(Shrink(DomainOf(kRow), {c}, found, bad, 60).sequence),
            "row_softmax n=4");
  // The answers to case 1 of a folder of many.
  const std::string folder = testing::TempDir() + "/toy";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(ExportCase(c, folder + "/1", true, {}).ok());
  std::filesystem::rename(folder + "/1/expected.safetensors",
                          folder + "/1/outputs.safetensors");
  good.candidate = "files:" + folder;
  good.profile = LoadProfile("exact-f32").value();
  EXPECT_EQ(TryCase({c}, good, 1).verdict, Verdict::kPass);
}

TEST(ToyOp, IsFuzzedByItsRow) {
  const Domain domain = DomainOf(kRow);
  fuzz::Plan plan;
  plan.domain = &domain;
  plan.budget.cases = 40;
  fuzz::Progress progress;
  struct : fuzz::Observer {
    Status OnCase(const fuzz::Tried&, const fuzz::Report&) override {
      return {};
    }
    void OnFault(const fuzz::Fault&) override {}
  } observer;
  const auto report =
      RunPlan(plan, Kernel("builtin:optimized"), &observer, &progress);
  ASSERT_EQ(report->faults.size(), 1u);
  EXPECT_EQ(MinimalLine(report->faults[0].shrunk.sequence), "row_softmax n=4");
}

TEST(ToyOp, IsSelftestedByItsRow) {
  SelftestOptions options;
  options.variations = 0;
  options.zoo_cases = 30;
  options.rows = kSelftests;
  options.ops = kRows;
  options.plans = false;
  const SelftestResult result = RunSelftest(options).value();
  EXPECT_TRUE(result.Passed()) << SelftestText(result);
  EXPECT_EQ(result.zoo_cases, 30);
  EXPECT_EQ(result.kills[0].by, "row_softmax n=4");
}

}  // namespace
}  // namespace lockstep::verify
