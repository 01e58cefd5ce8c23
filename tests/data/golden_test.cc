// The exact bits, for ever: golden digests of all outputs against the reference
// and against every target of the optimized path that this machine has.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "optimized/plan.h"
#include "tests/data/golden.h"
#include "tests/support/runnable_targets.h"
#include "verify/base/compare.h"
#include "verify/base/io/files.h"
#include "verify/case/attention_forward/case.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"
#include "verify/run/self_check.h"

namespace lockstep::verify {
namespace {

using Goldens = std::map<std::string, std::string>;

Goldens Read(const GoldenFile& golden) {
  const auto bytes = ReadWholeFile(golden.path(), size_t{1} << 24);
  EXPECT_TRUE(bytes.ok()) << bytes.message();
  if (!bytes.ok()) return {};
  auto goldens = ParseGoldens(
      {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  EXPECT_TRUE(goldens.ok()) << golden.path() << ": " << goldens.message();
  return goldens.ok() ? std::move(goldens.value()) : Goldens();
}

void ExpectReproduced(const GoldenFile& golden, const AnswerOf& answer) {
  const Goldens goldens = Read(golden);
  EXPECT_GE(goldens.size(), golden.least);
  for (const auto& [line, digests] : goldens) {
    const auto c = ParseCase(line, Ops());
    ASSERT_TRUE(c.ok()) << line << ": " << c.message();
    const auto found = DigestsOfAnswer(c.value(), answer);
    ASSERT_TRUE(found.ok()) << line << ": " << found.message();
    EXPECT_EQ(found.value(), digests) << line;
  }
}

class GoldenOf : public testing::TestWithParam<GoldenFile> {};

TEST_P(GoldenOf, ReferenceReproducesEveryDigest) {
  ExpectReproduced(GetParam(), ByReference);
}

TEST_P(GoldenOf, EveryCaseOfTheCaseFilesIsPinned) {
  Goldens goldens = Read(GetParam());
  for (const std::string& source : GetParam().sources) {
    const auto cases = GoldenCases(GetParam(), source);
    ASSERT_TRUE(cases.ok()) << cases.message();
    EXPECT_FALSE(cases->empty()) << source;
    for (const Case& c : cases.value()) {
      EXPECT_EQ(goldens.erase(MinimalLine(c)), 1u) << MinimalLine(c);
    }
  }
  for (const auto& [line, digests] : goldens) {
    ADD_FAILURE() << "in no case file: " << line;
  }
}

std::string NameOfFile(const testing::TestParamInfo<GoldenFile>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenOf, testing::ValuesIn(GoldenFiles()),
                         NameOfFile);

class GoldenTarget : public test::CompiledTarget {};

TEST_P(GoldenTarget, ReproducesEveryDigest) {
  for (const GoldenFile& golden : GoldenFiles()) {
    const bool attention = golden.name == std::string("attention_forward");
    for (const bool pairs : {false, true}) {
      if (pairs && !attention) continue;
      SCOPED_TRACE(pairs ? "pairs of bf16" : "f32");
      ExpectReproduced(
          golden, [&](const Trial& trial, const OutputSet& outputs) {
            Variation how;
            how.target = GetParam().name;
            how.threads = 2;
            if (attention) how.native_dot = pairs;
            Execution execution;
            RunOutcome outcome =
                trial.kernels().RunOptimized(how, outputs, &execution);
            // The reference alone has the orders of GPUs (N21).
            if (execution.backend == "reference") {
              EXPECT_TRUE(execution.fallback_reason.starts_with(
                  "no SIMD kernel has order="))
                  << execution.fallback_reason;
            } else {
              EXPECT_EQ(execution.target, GetParam().name);
            }
            return outcome;
          });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTarget,
                         testing::ValuesIn(optimized::Targets()),
                         test::NameOfTarget);
LOCKSTEP_NAME_NATIVE_DOT_NOT_RUN();

// Planted defects: a wrong last bit of one element, and a damaged file.
TEST(Golden, OneWrongBitIsSeen) {
  for (const GoldenFile& golden : GoldenFiles()) {
    const Goldens goldens = Read(golden);
    ASSERT_FALSE(goldens.empty());
    const auto c = ParseCase(goldens.begin()->first, Ops());
    const auto trial = TrialRowOf(c.value())->open(c.value(), {});
    for (size_t t = 0; t < trial.value()->outputs().size(); ++t) {
      const auto found = DigestsOfAnswer(
          c.value(), [&](const Trial& asked, const OutputSet& outputs) {
            RunOutcome outcome = ByReference(asked, outputs);
            *static_cast<unsigned char*>(outputs.tensors[t].view.data) ^= 1;
            return outcome;
          });
      ASSERT_TRUE(found.ok()) << found.message();
      const std::string& name = trial.value()->outputs()[t].name;
      EXPECT_EQ(WhichDiffers(found.value(), goldens.begin()->second), name);
    }
  }
}

TEST(Golden, DamagedFilesAreRefused) {
  const std::string digest(32, 'a');
  const std::string good =
      "attention_forward sq=1 skv=1 d=1 => inputs=" + digest + " o=" + digest;
  EXPECT_TRUE(ParseGoldens("# c\n\n" + good + "\n").ok());
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(ParseGoldens(good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ParseGoldens(good + " more").ok());
  EXPECT_FALSE(ParseGoldens(good + "\n" + good).ok());
}

// The lines of an output that exist: a ragged batch has fewer than its shape.
int64_t LinesThatExist(const Case& c, const OutputSpec& spec) {
  if (!c.Has<AttentionForwardCase>()) return spec.lines();
  const auto& a = c.Get<AttentionForwardCase>();
  if (a.layout != Layout::kVarlen || spec.name == "dsink") return spec.lines();
  const bool keys = spec.name == "dk" || spec.name == "dv";
  const std::vector<int64_t>& counts = keys ? a.valid_kv : a.valid_q;
  int64_t positions = 0;
  for (int64_t b = 0; b < a.batch; ++b) {
    positions += counts[counts.size() == 1 ? 0 : static_cast<size_t>(b)];
  }
  return positions * spec.shape[1];
}

// The truth that the judge computes row by row is the whole answer.
TEST_P(GoldenOf, RowsOfTheTruthAreTheWhole) {
  for (const auto& [line, digests] : Read(GetParam())) {
    const auto c = ParseCase(line, Ops());
    ASSERT_TRUE(c.ok());
    const auto trial = TrialRowOf(c.value())->open(c.value(), {});
    ASSERT_TRUE(trial.ok());
    const auto outputs = trial.value()->Allocate(0);
    ASSERT_TRUE(outputs.ok());
    ByReference(*trial.value(), outputs.value());
    const auto& specs = trial.value()->outputs();
    std::vector<int64_t> seen(specs.size());
    RowBits bits;
    for (int64_t row = 0; row < trial.value()->rows(); ++row) {
      trial.value()->ReferenceRow(row, &bits);
      ASSERT_EQ(bits.size(), specs.size());
      for (size_t t = 0; t < specs.size(); ++t) {
        size_t at = 0;
        for (const int64_t one : trial.value()->Lines(t, row)) {
          for (int64_t i = 0; i < specs[t].shape[3]; ++i, ++at) {
            ASSERT_EQ(ElementBits(outputs->tensors[t].const_view(),
                                  LineIndex(specs[t], one, i)),
                      bits[t][at])
                << line << " " << specs[t].name << " row " << row;
          }
        }
        EXPECT_EQ(at, bits[t].size());
        seen[t] += static_cast<int64_t>(at);
      }
    }
    for (size_t t = 0; t < specs.size(); ++t) {
      EXPECT_EQ(seen[t],
                LinesThatExist(c.value(), specs[t]) * specs[t].shape[3])
          << line;
    }
  }
}

}  // namespace
}  // namespace lockstep::verify
