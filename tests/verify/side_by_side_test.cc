// Cases judged side by side: what is told, and in which order, is what is told
// of them one after another.
#include "verify/run/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "reference/contract/team.h"
#include "tests/verify/fake_candidate.h"
#include "verify/registry/ops.h"
#include "verify/report/events.h"
#include "verify/run/run.h"

namespace lockstep::verify {
namespace {

PreviousTruth TruthOf(const std::string& line) {
  PreviousTruth truth;
  truth.line = line;
  return truth;
}

TEST(TruthChain, GivesTheNearestCaseBeforeThatTold) {
  TruthChain chain;
  EXPECT_EQ(chain.Before(0), nullptr);
  chain.Tell(2, TruthOf("two"));
  chain.Tell(0, TruthOf("zero"));
  chain.End(1);  // without a truth
  EXPECT_EQ(chain.Before(1)->line, "zero");
  EXPECT_EQ(chain.Before(2)->line, "zero");
  EXPECT_EQ(chain.Before(3)->line, "two");
  chain.End(0);
  EXPECT_EQ(chain.Before(2)->line, "zero");
  chain.End(2);
  EXPECT_EQ(chain.Before(3)->line, "two");
}

TEST(TruthChain, WaitsForTheCaseBeforeUnlessItIsNeverJudged) {
  TruthChain chain;
  std::jthread other([&] { chain.Tell(0, TruthOf("zero")); });
  EXPECT_EQ(chain.Before(1)->line, "zero");
  other.join();
  std::jthread closing([&] { chain.Close(1); });
  EXPECT_EQ(chain.Before(3)->line, "zero");
}

// Units of so many bytes; the limit holds 10 of them.
TEST(SideBySide, HoldsNoMoreMemoryThanTheLimit) {
  std::vector<CallUnit> units;
  for (int64_t n = 0; n < 200; ++n) units.push_back({n, n + 1, 1 + n * 7 % 13});
  TruthChain chain;
  std::vector<std::string> told;
  SideBySide::Limits limits;
  limits.bytes = 10;
  SideBySide all(units, limits, &chain, [&](CaseResult* result, bool) {
    told.push_back(result->line);
    return true;
  });
  std::atomic<int64_t> bytes = 0, working = 0;
  RunOwnThreads(4, [&](int) {
    while (const auto unit = all.Take()) {
      // Counted after it was taken: others may have left in between.
      bytes += unit->bytes;
      EXPECT_TRUE(++working == 1 || bytes <= 10 || unit->bytes > 10);
      CaseResult result;
      result.line = std::to_string(unit->begin);
      all.Deliver(unit->begin, std::move(result), false);
      bytes -= unit->bytes;
      --working;
      all.Leave(*unit);
    }
  });
  ASSERT_EQ(told.size(), units.size());
  for (size_t n = 0; n < told.size(); ++n)
    EXPECT_EQ(told[n], std::to_string(n));
}

TEST(SideBySide, TellsNothingBehindTheEnd) {
  TruthChain chain;
  std::vector<std::string> told;
  SideBySide all({{0, 1}, {1, 2}, {2, 3}}, {}, &chain,
                 [&](CaseResult* result, bool) {
                   told.push_back(result->line);
                   return result->line != "1";
                 });
  for (const int64_t call : {2, 1, 0}) {
    CaseResult result;
    result.line = std::to_string(call);
    all.Deliver(call, std::move(result), false);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"0", "1"}));
  EXPECT_FALSE(all.Begins(2));
  EXPECT_FALSE(all.interrupted());
}

class Collector : public RunObserver {
 public:
  void OnCase(const CaseResult& result, const Totals& totals,
              int64_t remaining) override {
    text += CaseEvents(result) + std::to_string(totals.cases) + " of " +
            std::to_string(totals.cases + remaining) + "\n";
    for (const Power& power : result.power) {
      text += power.null + (power.rejected ? " rejected" : "") +
              (power.same ? " same\n" : "\n");
    }
  }
  std::string text;
};

// Everything that is told of the lines, times apart.
std::string Told(const std::vector<std::string>& lines, const std::string& spec,
                 int jobs) {
  Result<std::vector<Job>> read = JobsFromLines(lines, Ops());
  EXPECT_TRUE(read.ok()) << read.message();
  std::vector<std::unique_ptr<Candidate>> candidates;
  candidates.push_back(std::move(ParseCandidate(spec).value()));
  RunOptions options;
  options.jobs = jobs;
  options.draws = 1;
  options.judge.causes = true;
  options.judge.one_field = true;
  Result<Run> run =
      Run::Prepare(std::move(read.value()), std::move(candidates), options);
  EXPECT_TRUE(run.ok()) << run.message();
  EXPECT_EQ(run->Jobs(), jobs);
  Collector collector;
  run->Judge(&collector);
  static const std::regex kTimes("\"[a-z_]*seconds\":[^,}]*");
  return std::regex_replace(collector.text, kTimes, "");
}

// Of one shape, so that the answer to the case before is a null of each; sizes
// that take long beside others that do not, and calls of one line.
std::vector<std::string> MixedLines() {
  std::vector<std::string> lines;
  for (int n = 0; n < 12; ++n) {
    const std::string side = n % 4 == 0 ? "sq=48 skv=64" : "sq=4 skv=6";
    lines.push_back("attention_forward " + side +
                    " d=8 cap=5 mask=causal seed=" + std::to_string(n));
  }
  lines[5] += " ;; attention_forward sq=4 skv=6 d=8 cap=5 mask=causal seed=77";
  lines[7] = "attention_forward sq=4 skv=6 d=0 expect=refuse";
  return lines;
}

TEST(SideBySide, TellsOfOurKernelTheSame) {
  const std::string one = Told(MixedLines(), "builtin:optimized,threads=1", 1);
  EXPECT_EQ(one, Told(MixedLines(), "builtin:optimized,threads=1", 4));
  EXPECT_NE(one.find("previous_output"), std::string::npos);
}

TEST(SideBySide, TellsOfAWrongKernelTheSame) {
  // More failures than those whose causes are looked for.
  const std::string spec = "mutant:attn.cap_before_scale";
  EXPECT_EQ(Told(MixedLines(), spec, 1), Told(MixedLines(), spec, 4));
}

TEST(SideBySide, AsksASingleKernelOneCaseAfterAnother) {
  Result<std::vector<Job>> read = JobsFromLines(MixedLines(), Ops());
  ASSERT_TRUE(read.ok());
  std::vector<std::unique_ptr<Candidate>> candidates;
  candidates.push_back(std::make_unique<FakeCandidate>(
      [](int64_t, const Variation&, const OutputSet&, Execution*) {
        return RunOutcome{};
      }));
  RunOptions options;
  options.jobs = 4;
  const auto run = verify::Run::Prepare(std::move(read.value()),
                                        std::move(candidates), options);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->Jobs(), 1);
}

}  // namespace
}  // namespace lockstep::verify
