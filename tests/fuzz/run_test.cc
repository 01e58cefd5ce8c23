// The loop: what it draws, counts, finds, and says with its exit code.
#include "fuzz/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/text.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz {
namespace {

class Recorder : public Observer {
 public:
  Status OnCase(const Tried& tried, const Report&) override {
    cases[tried.index] = verify::MinimalLine(*tried.sequence) + " " +
                         verify::VerdictName(tried.outcome->verdict) + " " +
                         tried.outcome->signature + tried.outcome->outputs;
    if (stop != nullptr && static_cast<int64_t>(cases.size()) >= stop_at) {
      *stop = true;
    }
    return {};
  }
  void OnFault(const Fault&) override { ++faults; }

  std::map<uint64_t, std::string> cases;
  int faults = 0;
  std::atomic<bool>* stop = nullptr;
  int64_t stop_at = 0;
};

Plan CasesPlan(int64_t cases) {
  Plan plan;
  plan.domain = verify::FindDomain("attention_forward").value();
  plan.budget.cases = cases;
  plan.shrink_seconds = 0;
  return plan;
}

Report RunOf(const Plan& plan, const Target& target, Recorder* recorder) {
  Progress progress;
  Result<Report> report = RunPlan(plan, target, recorder, &progress);
  EXPECT_TRUE(report.ok());
  return std::move(report.value());
}

TEST(FuzzRunTest, CorrectKernelsHaveNoFindings) {
  for (const char* spec : {"builtin:optimized,threads=1", "builtin:reference",
                           "variant:exact-tile16"}) {
    const Target target = Target::Open(spec, "").value();
    Recorder recorder;
    const Report report = RunOf(CasesPlan(150), target, &recorder);
    EXPECT_EQ(report.counts.cases, 150) << spec;
    EXPECT_TRUE(report.faults.empty()) << spec;
    EXPECT_GT(report.counts.pass, 100) << spec;
    EXPECT_GT(report.counts.canaries, 0) << spec;
    EXPECT_EQ(report.counts.canaries_missed, 0) << spec;
    EXPECT_EQ(ExitCode(report, target), verify::kExitPass) << spec;
  }
}

// Missed canaries are a rate with a bound, not an end of long campaigns.
TEST(FuzzRunTest, MissedCanariesAreARate) {
  Target target;
  Report report;
  report.counts.cases = report.counts.pass = 1000;
  const auto code = [&](int64_t missed, int64_t canaries) {
    report.counts.canaries = canaries;
    report.counts.canaries_missed = missed;
    return ExitCode(report, target);
  };
  EXPECT_EQ(code(0, 0), verify::kExitPass);
  EXPECT_EQ(code(0, 1), verify::kExitPass);
  EXPECT_EQ(code(1, 1), verify::kExitVacuous);
  EXPECT_EQ(code(1, 279), verify::kExitVacuous);
  EXPECT_EQ(code(1, 280), verify::kExitPass);
  EXPECT_EQ(code(3, 436), verify::kExitVacuous);
  EXPECT_EQ(code(3, 437), verify::kExitPass);
  EXPECT_EQ(code(3, 874), verify::kExitPass);
  // A judge that misses one in fifty never gets there.
  EXPECT_EQ(code(20000, 1000000), verify::kExitVacuous);
  EXPECT_EQ(code(874, 874), verify::kExitVacuous);
  EXPECT_NEAR(WilsonUpper(3, 874), 0.01004, 1e-5);
  EXPECT_EQ(WilsonUpper(0, 0), 1);
  report.counts.canaries = 874;
  report.counts.canaries_missed = 1;
  report.missed.push_back({7, true, "mutant:x", "attention_forward sq=1"});
  const std::string text =
      SummaryText(report, *verify::FindDomain("attention_forward").value(), 0);
  EXPECT_NE(text.find("case 7: attention_forward sq=1  mutant:x"),
            std::string::npos)
      << text;
}

TEST(FuzzRunTest, ShardsAreTheWhole) {
  const Target target = Target::Open("mutant:attn.cap_twice", "").value();
  Recorder whole, parts;
  RunOf(CasesPlan(90), target, &whole);
  for (int64_t i = 0; i < 3; ++i) {
    Plan plan = CasesPlan(90);
    plan.shard = {i, 3};
    Recorder part;
    RunOf(plan, target, &part);
    EXPECT_EQ(part.cases.size(), 30u);
    parts.cases.merge(part.cases);
  }
  EXPECT_EQ(parts.cases, whole.cases);
}

TEST(FuzzRunTest, DoneCasesAreLeftOutButCounted) {
  const Target target = Target::Open("builtin:reference", "").value();
  Plan plan = CasesPlan(40);
  Recorder all;
  const Report whole = RunOf(plan, target, &all);
  for (uint64_t n = 0; n < 25; ++n) plan.done.insert(n), plan.met.insert(n);
  Recorder rest;
  const Report report = RunOf(plan, target, &rest);
  EXPECT_EQ(rest.cases.size(), 15u);
  EXPECT_EQ(report.features, whole.features);
}

TEST(FuzzRunTest, StopsAtSoManySignatures) {
  const Target target = Target::Open("mutant:attn.causal_strict", "").value();
  Plan plan = CasesPlan(2000);
  plan.max_signatures = 1;
  Recorder recorder;
  const Report report = RunOf(plan, target, &recorder);
  EXPECT_EQ(report.faults.size(), 1u);
  EXPECT_LT(report.counts.cases, 200);
  EXPECT_EQ(ExitCode(report, target), verify::kExitFail);
}

TEST(FuzzRunTest, InterruptKeepsWhatWasFound) {
  std::atomic<bool> stop{false};
  Target target = Target::Open("builtin:reference", "").value();
  target.stop = &stop;
  Recorder recorder;
  recorder.stop = &stop;
  recorder.stop_at = 5;
  const Report report = RunOf(CasesPlan(1000), target, &recorder);
  EXPECT_TRUE(report.interrupted);
  EXPECT_EQ(report.counts.cases, 5);
  EXPECT_EQ(ExitCode(report, target), verify::kExitInterrupted);

  stop = false;
  target = Target::Open("mutant:attn.zeros", "").value();
  target.stop = &stop;
  const Report found = RunOf(CasesPlan(1000), target, &recorder);
  EXPECT_TRUE(found.interrupted);
  EXPECT_FALSE(found.faults.empty());
  EXPECT_EQ(ExitCode(found, target), verify::kExitFail);
}

TEST(FuzzRunTest, ARunThatProvesNothingIsVacuous) {
  const Target target = Target::Open("builtin:reference", "").value();
  Report report;
  EXPECT_EQ(ExitCode(report, target), verify::kExitVacuous);
  report.counts.cases = 3;
  report.counts.untrusted = 3;
  EXPECT_EQ(ExitCode(report, target), verify::kExitVacuous);
  report.counts.cases = 4;
  report.counts.pass = 1;
  EXPECT_EQ(ExitCode(report, target), verify::kExitPass);
  report.counts.canaries = 2;
  report.counts.canaries_missed = 1;
  EXPECT_EQ(ExitCode(report, target), verify::kExitVacuous);
  report.counts.error = 1;
  EXPECT_EQ(ExitCode(report, target), verify::kExitCandidate);
  report.counts.self_errors = 1;
  EXPECT_EQ(ExitCode(report, target), verify::kExitSelf);
}

// What a kernel claims has to be judged, and a skipped case judges nothing.
TEST(FuzzRunTest, AnUnprovedClaimIsVacuous) {
  const verify::Domain& domain =
      *verify::FindDomain("attention_forward").value();
  Target target = Target::Open("builtin:reference", "").value();
  target.claims = {"window", "f16", "no such word", "softcap"};
  Report report;
  report.claims = ClaimedFeatures(target, domain);
  report.features.resize(domain.features().size());
  report.counts.cases = report.counts.pass = 1;
  EXPECT_EQ(report.Unproved(),
            (std::vector<std::string>{"f16", "softcap", "window"}));
  EXPECT_EQ(ExitCode(report, target), verify::kExitVacuous);
  EXPECT_NE(SummaryText(report, domain, 5)
                .find("claims    never judged: f16 softcap window;"),
            std::string::npos);
  for (const auto& [claim, shown_by] : report.claims) {
    report.features[shown_by.back()] = 1;
  }
  EXPECT_EQ(ExitCode(report, target), verify::kExitPass);
  target.lane = Lane::kBf16;
  EXPECT_FALSE(ClaimedFeatures(target, domain).contains("f16"));
}

TEST(FuzzRunTest, SkippedCasesMeetNothing) {
  // A profile of one lane skips the lines of others.
  const Target target = Target::Open("variant:flash", "").value();
  Plan plan = CasesPlan(0);
  plan.corpus = {
      verify::ParseCaseSequence("attention_forward sq=3 skv=3 d=4 lane=f16")
          .value()};
  Recorder recorder;
  const Report report = RunOf(plan, target, &recorder);
  EXPECT_EQ(report.counts.skipped, 1);
  EXPECT_EQ(report.Missing(*plan.domain).size(), report.features.size());
}

TEST(FuzzRunTest, MissingFeaturesAreNamed) {
  const Target target = Target::Open("builtin:reference", "").value();
  Recorder recorder;
  const Plan plan = CasesPlan(1);
  const Report report = RunOf(plan, target, &recorder);
  EXPECT_GT(report.Missing(*plan.domain).size(), 40u);
}

TEST(FuzzRunTest, CorpusComesFirst) {
  const Target target = Target::Open("mutant:attn.causal_strict", "").value();
  Plan plan = CasesPlan(50);
  plan.corpus = {
      verify::ParseCaseSequence("attention_forward sq=3 skv=3 d=4 mask=causal")
          .value()};
  plan.max_signatures = 1;
  Recorder recorder;
  const Report report = RunOf(plan, target, &recorder);
  ASSERT_EQ(report.faults.size(), 1u);
  EXPECT_FALSE(report.faults[0].drawn);
  EXPECT_EQ(report.counts.cases, 1);
}

// A missed bound of zero is infinitely near, and no place outside the counters.
TEST(FuzzRunTest, EveryNearnessHasABucket) {
  EXPECT_EQ(NearnessBucket(std::numeric_limits<double>::infinity(), 34), 33);
  EXPECT_EQ(NearnessBucket(std::numeric_limits<double>::max(), 34), 33);
  EXPECT_EQ(NearnessBucket(1, 34), 33);
  EXPECT_EQ(NearnessBucket(0.75, 34), 32);
  EXPECT_EQ(NearnessBucket(0.5, 34), 32);
  EXPECT_EQ(NearnessBucket(0x1p-33, 34), 0);
  EXPECT_EQ(NearnessBucket(0x1p-34, 34), 0);
  EXPECT_EQ(NearnessBucket(std::numeric_limits<double>::denorm_min(), 34), 0);
}

TEST(FuzzRunTest, BadTargetsAreRefused) {
  EXPECT_FALSE(Target::Open("mutant:attn.nothing", "").ok());
  EXPECT_FALSE(Target::Open("files:.", "cpu-f32").ok());
  EXPECT_FALSE(Target::Open("builtin:reference", "no-such-profile").ok());
}

}  // namespace
}  // namespace lockstep::fuzz
