// One row for an op: an op that nothing else knows is judged, fuzzed, shrunk,
// exported, read back, selftested and benched by its rows alone.
#include "tests/fuzz/toy_op.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "bench/row.h"
#include "fuzz/run.h"
#include "fuzz/shrink.h"
#include "fuzz/trial.h"
#include "verify/report/export.h"
#include "verify/run/run.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify::toy {
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
  fuzz::Observer observer;
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

TEST(ToyOp, IsBenchedByItsRow) {
  bench::Ask ask;
  ask.job = JobsFromLines({"row_softmax rows=5 n=9"}, kRows).value()[0];
  const auto scene = bench::OpenScene(ask.job).value();
  EXPECT_EQ(scene->work->flop, 4 * 5 * 9);
  EXPECT_EQ(scene->bytes, 2 * 5 * 9 * 4);
  ask.spec = "builtin:reference";
  auto right = bench::Row::Open(ask, scene);
  right->Verify();
  ASSERT_EQ(right->refused(), "");
  right->TakeSample(0);
  EXPECT_GT(right->samples()[0].seconds, 0);
  ask.spec = "builtin:optimized";
  auto wrong = bench::Row::Open(ask, scene);
  wrong->Verify();
  EXPECT_EQ(wrong->refused().find("not timed: fail"), 0u) << wrong->refused();
}

}  // namespace
}  // namespace lockstep::verify::toy
