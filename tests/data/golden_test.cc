// The exact bits, for ever: golden digests against the reference and against
// every target of the optimized path that this machine has.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "tests/data/golden.h"
#include "tests/support/runnable_targets.h"
#include "verify/base/io/files.h"

namespace lockstep::verify {
namespace {

constexpr char kGoldens[] = "data/golden/attention_forward.golden";
constexpr const char* kSources[] = {"data/cases/smoke.cases",
                                    "data/cases/captured.cases",
                                    "data/cases/ci.cases"};

std::vector<GoldenEntry> Goldens() {
  const auto bytes = ReadWholeFile(kGoldens, size_t{1} << 24);
  EXPECT_TRUE(bytes.ok()) << (bytes.ok() ? "" : bytes.message());
  if (!bytes.ok()) return {};
  auto entries =
      ParseGoldens({reinterpret_cast<const char*>(bytes.value().data()),
                    bytes.value().size()});
  EXPECT_TRUE(entries.ok()) << (entries.ok() ? "" : entries.message());
  return entries.ok() ? std::move(entries.value()) : std::vector<GoldenEntry>();
}

// How many entries `kernel` reproduces; failures are reported.
size_t CountReproduced(const std::vector<GoldenEntry>& goldens,
                       const GoldenKernel& kernel) {
  size_t reproduced = 0;
  for (const GoldenEntry& golden : goldens) {
    const auto digests = DigestsOf(golden.request, kernel);
    EXPECT_TRUE(digests.ok()) << (digests.ok() ? "" : digests.message());
    if (!digests.ok()) continue;
    EXPECT_EQ(FormatGolden({golden.request, digests.value()}),
              FormatGolden(golden));
    reproduced += digests.value() == golden.digests ? 1 : 0;
  }
  return reproduced;
}

TEST(Golden, ReferenceReproducesEveryDigest) {
  const auto goldens = Goldens();
  EXPECT_GE(goldens.size(), 300u);
  EXPECT_EQ(CountReproduced(goldens, RunReference), goldens.size());
}

class GoldenTarget : public test::CompiledTarget {};

TEST_P(GoldenTarget, ReproducesEveryDigest) {
  const auto goldens = Goldens();
  for (const bool pairs : {false, true}) {
    SCOPED_TRACE(pairs ? "pairs of bf16" : "f32");
    optimized::Caps caps;
    caps.target = GetParam().name;
    caps.threads = 2;
    caps.native_dot = pairs;
    const auto kernel = [&](const AttentionForwardProblem& problem,
                            const AttentionForwardInputs& inputs,
                            const AttentionForwardOutputs& outputs) {
      const auto plan = optimized::MakePlan(problem, caps);
      if (!plan.ok()) return plan.status();
      return optimized::AttentionForward(problem, inputs, plan.value(), outputs,
                                         nullptr);
    };
    EXPECT_EQ(CountReproduced(goldens, kernel), goldens.size());
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTarget,
                         testing::ValuesIn(optimized::Targets()),
                         test::NameOfTarget);
LOCKSTEP_NAME_NATIVE_DOT_NOT_RUN();

TEST(Golden, EveryCaseOfTheCaseFilesIsPinned) {
  std::set<std::string> pinned;
  for (const GoldenEntry& golden : Goldens()) {
    pinned.insert(CanonicalLine(golden.request));
  }
  std::set<std::string> wanted;
  for (const char* path : kSources) {
    const auto cases = GoldenCases(path);
    ASSERT_TRUE(cases.ok()) << cases.message();
    for (const Case& c : cases.value()) wanted.insert(CanonicalLine(c));
  }
  for (const std::string& line : wanted) {
    EXPECT_TRUE(pinned.contains(line)) << "no golden digest: " << line;
  }
  for (const std::string& line : pinned) {
    EXPECT_TRUE(wanted.contains(line)) << "in no case file: " << line;
  }
}

// Planted defects: a wrong last bit of one element, and a damaged file.
TEST(Golden, OneWrongBitIsSeen) {
  const auto goldens = Goldens();
  ASSERT_FALSE(goldens.empty());
  const auto wrong = [](const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs,
                        const AttentionForwardOutputs& outputs) {
    const Status status = RunReference(problem, inputs, outputs);
    auto* byte = static_cast<unsigned char*>(outputs.o.data);
    *byte ^= 1;
    return status;
  };
  const auto right = DigestsOf(goldens[0].request, RunReference);
  const auto digests = DigestsOf(goldens[0].request, wrong);
  ASSERT_TRUE(right.ok() && digests.ok());
  EXPECT_NE(digests.value().o, right.value().o);
  EXPECT_EQ(digests.value().lse, right.value().lse);
}

TEST(Golden, DamagedFilesAreRefused) {
  const std::string digest(32, 'a');
  const std::string good =
      "attention_forward sq=1 skv=1 d=1 => inputs=" + digest + " o=" + digest +
      " lse=" + digest;
  EXPECT_TRUE(ParseGoldens("# c\n\n" + good + "\n").ok());
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(ParseGoldens(good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ParseGoldens(good + " more").ok());
}

}  // namespace
}  // namespace lockstep::verify
