// The driver: budgets, shards, expectations of refusal, stopping.
#include "verify/run/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "tests/verify/fake_candidate.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

class StoppingCollector : public RunObserver {
 public:
  void OnDecided(const CaseResult& result) override {
    decided.push_back(result.line);
    EXPECT_EQ(result.verdict, Verdict::kFail);
    EXPECT_TRUE(results.empty() || results.back().line != result.line);
    EXPECT_TRUE(result.causes.empty() && result.no_cause.empty());
  }
  void OnCase(const CaseResult& result, const Totals&, int64_t) override {
    results.push_back(result);
    if (stop != nullptr) *stop = true;
  }
  std::vector<CaseResult> results;
  std::vector<std::string> decided;
  std::atomic<bool>* stop = nullptr;
};

std::vector<std::string> Lines(int n) {
  std::vector<std::string> lines;
  for (int seed = 0; seed < n; ++seed) {
    lines.push_back("attention_forward sq=2 skv=3 d=4 seed=" +
                    std::to_string(seed));
  }
  return lines;
}

Result<Run> Prepare(const std::vector<std::string>& lines,
                    const RunOptions& options, Defect defect) {
  Result<std::vector<Job>> jobs = JobsFromLines(lines, Ops());
  if (!jobs.ok()) return jobs.status();
  std::vector<std::unique_ptr<Candidate>> candidates;
  candidates.push_back(std::make_unique<FakeCandidate>(std::move(defect)));
  return Run::Prepare(std::move(jobs.value()), std::move(candidates), options);
}

RunOutcome NoDefect(int64_t, const Variation&, const OutputSet&, Execution*) {
  return {};
}

RunOutcome Wrong(int64_t, const Variation&, const OutputSet& out, Execution*) {
  FlipBit(&ElementOf(out, 0, 0));
  return {};
}

Totals JudgeLines(const std::vector<std::string>& lines,
                  const RunOptions& options, Defect defect,
                  StoppingCollector* collector) {
  Result<Run> run = Prepare(lines, options, std::move(defect));
  EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.message());
  return run->Judge(collector);
}

TEST(Run, JudgesEveryCase) {
  StoppingCollector collector;
  const Totals totals = JudgeLines(Lines(5), {}, NoDefect, &collector);
  EXPECT_EQ(totals.cases, 5);
  EXPECT_EQ(totals.pass, 5);
  EXPECT_EQ(collector.results.size(), 5u);
}

// Draws are no cases; what they find is a failure of the run all the same.
TEST(Run, DrawsAreCountedApart) {
  StoppingCollector collector;
  RunOptions options;
  options.draws = 2;
  const Totals right = JudgeLines(Lines(2), options, NoDefect, &collector);
  EXPECT_EQ(right.cases, 2);
  EXPECT_EQ(right.draws.cases, 4);
  EXPECT_EQ(right.draws.pass, 4);
  EXPECT_EQ(ExitCode(right, {}), kExitPass);
  for (const CaseResult& result : collector.results) {
    ASSERT_EQ(result.draws.size(), 2u);
    EXPECT_EQ(result.draws[0].draw_of, result.line);
    EXPECT_NE(result.draws[0].line, result.line);
    EXPECT_EQ(result.draws[0].replay_case, result.draws[0].line);
  }
  // Wrong on values beyond f16's range, or below it.
  const Defect narrow = [](int64_t, const Variation&, const OutputSet& out,
                           Execution*) {
    float& x = ElementOf(out, 0, 0);
    if (std::fabs(x) > 65504 || std::fabs(x) < 0x1p-24f) FlipBit(&x);
    return RunOutcome{};
  };
  collector.results.clear();
  options.judge.causes = true;
  const Totals wrong = JudgeLines(Lines(1), options, narrow, &collector);
  // The first of them has a cause, or why there is none.
  EXPECT_FALSE(collector.results[0].draws[0].no_cause.empty());
  EXPECT_TRUE(collector.results[0].draws[1].no_cause.empty());
  EXPECT_EQ(wrong.pass, 1);
  EXPECT_EQ(wrong.draws.fail, 2);
  EXPECT_EQ(ExitCode(wrong, {}), kExitFail);
  // And its line alone fails.
  const std::string& line = collector.results[0].draws[0].line;
  EXPECT_EQ(JudgeLines({line}, {}, narrow, &collector).fail, 1);
}

TEST(Run, FailedCasesAndSequencesHaveNoDraws) {
  StoppingCollector collector;
  RunOptions options;
  options.draws = 2;
  EXPECT_EQ(JudgeLines(Lines(1), options, Wrong, &collector).draws.cases, 0);
  EXPECT_EQ(JudgeLines({"attention_forward sq=2 skv=3 d=4 ;; "
                        "attention_forward sq=3 skv=3 d=4"},
                       options, NoDefect, &collector)
                .draws.cases,
            0);
}

TEST(Run, SequencesAreJudgedCallByCall) {
  StoppingCollector collector;
  const Totals totals = JudgeLines(
      {"attention_forward sq=2 skv=3 d=4 ;; attention_forward sq=3 skv=3 d=4"},
      {}, NoDefect, &collector);
  EXPECT_EQ(totals.cases, 2);
  EXPECT_EQ(collector.results[1].line, "attention_forward sq=3 skv=3 d=4");
  EXPECT_EQ(
      collector.results[1].replay_case,
      "attention_forward sq=2 skv=3 d=4 ;; attention_forward sq=3 skv=3 d=4");
}

TEST(Run, ShardsPartitionTheCases) {
  std::vector<std::string> seen;
  for (int64_t i = 0; i < 3; ++i) {
    RunOptions options;
    options.shard = {i, 3};
    StoppingCollector collector;
    JudgeLines(Lines(7), options, NoDefect, &collector);
    for (const CaseResult& result : collector.results) {
      seen.push_back(result.line);
    }
  }
  std::sort(seen.begin(), seen.end());
  std::vector<std::string> all;
  StoppingCollector whole;
  JudgeLines(Lines(7), {}, NoDefect, &whole);
  for (const CaseResult& result : whole.results) all.push_back(result.line);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(seen, all);
}

TEST(Run, BudgetsLeaveCasesUnrun) {
  RunOptions options;
  options.budget.cases = 2;
  StoppingCollector collector;
  const Totals totals = JudgeLines(Lines(5), options, NoDefect, &collector);
  EXPECT_EQ(totals.cases, 2);
  EXPECT_EQ(totals.not_run, 3);
  options.budget = {.seconds = 1e-9, .cases = std::nullopt};
  StoppingCollector none;
  EXPECT_EQ(JudgeLines(Lines(5), options, NoDefect, &none).cases, 0);
}

TEST(Run, FailFastStopsAtTheFirst) {
  RunOptions options;
  options.fail_fast = true;
  StoppingCollector collector;
  const Totals totals = JudgeLines(Lines(5), options, Wrong, &collector);
  EXPECT_EQ(totals.cases, 1);
  EXPECT_EQ(totals.fail, 1);
}

TEST(Run, SeedsAreReplaced) {
  RunOptions options;
  options.seed = 77;
  StoppingCollector collector;
  JudgeLines(Lines(1), options, Wrong, &collector);
  EXPECT_NE(collector.results[0].line.find("seed=77"), std::string::npos);
  EXPECT_NE(collector.results[0].replay_case.find("seed=77"),
            std::string::npos);
}

TEST(Run, AnInterruptEndsTheRun) {
  std::atomic<bool> stop{false};
  RunOptions options;
  options.judge.stop = &stop;
  StoppingCollector collector;
  collector.stop = &stop;
  const Totals totals = JudgeLines(Lines(5), options, NoDefect, &collector);
  EXPECT_TRUE(totals.interrupted);
  EXPECT_EQ(totals.cases, 1);
  EXPECT_EQ(totals.not_run, 4);
}

TEST(Run, RefusalsCanBeExpected) {
  StoppingCollector collector;
  const Totals totals =
      JudgeLines({"attention_forward sq=2 skv=3 d=0 expect=refuse",
                  "attention_forward hq=3 hkv=2 sq=2 skv=3 d=4 expect=refuse",
                  "attention_forward sq=2 skv=3 d=4 expect=refuse"},
                 {}, NoDefect, &collector);
  EXPECT_EQ(totals.pass, 2);
  EXPECT_EQ(totals.fail, 1);
  EXPECT_EQ(collector.results[2].findings[0].tier, Tier::kRefusal);
}

TEST(Run, BadCasesAreRefusedBeforeAnythingRuns) {
  EXPECT_FALSE(JobsFromLines({"attention_forward sq=2 skv=3 d=0"}, Ops()).ok());
  EXPECT_FALSE(
      JobsFromLines({"attention_forward sq=2 skv=3 d=4 nope=1"}, Ops()).ok());
  RunOptions options;
  options.max_memory = 1 << 20;
  EXPECT_FALSE(
      Prepare({"attention_forward sq=4096 skv=4096 d=64"}, options, NoDefect)
          .ok());
  EXPECT_FALSE(Prepare({"attention_forward sq=4 skv=4 d=4 "
                        "fill=file:nowhere.safetensors#"
                        "00000000000000000000000000000000"},
                       {}, NoDefect)
                   .ok());
}

TEST(Run, BudgetAndShardText) {
  EXPECT_EQ(ParseBudget("60s")->seconds, 60.0);
  EXPECT_EQ(ParseBudget("1.5m")->seconds, 90.0);
  EXPECT_EQ(ParseBudget("2h")->seconds, 7200.0);
  EXPECT_EQ(ParseBudget("1000cases")->cases, 1000);
  for (const char* bad : {"", "60", "s", "-1s", "0s", "1e9", "0cases",
                          "1.5cases", "60sec", "nans"}) {
    EXPECT_FALSE(ParseBudget(bad).ok()) << bad;
  }
  EXPECT_EQ(ParseShard("2/4")->index, 2);
  for (const char* bad : {"", "1", "4/4", "-1/4", "1/0", "a/b", "1/4x"}) {
    EXPECT_FALSE(ParseShard(bad).ok()) << bad;
  }
}

// Before a cause is looked for.
TEST(Run, AFailIsToldAtOnce) {
  RunOptions options;
  options.judge.causes = true;
  options.jobs = 1;
  StoppingCollector collector;
  const std::vector<std::string> lines = {
      "attention_forward sq=20 skv=20 d=4",
      "attention_forward sq=20 skv=20 d=4 expect=fail"};
  JudgeLines(lines, options, Wrong, &collector);
  EXPECT_EQ(collector.decided, std::vector<std::string>{lines[0]});
  ASSERT_EQ(collector.results.size(), 2u);
  EXPECT_FALSE(collector.results[0].no_cause.empty());
  JudgeLines(lines, options, NoDefect, &collector);
  EXPECT_EQ(collector.decided.size(), 1u);
}

}  // namespace
}  // namespace lockstep::verify
