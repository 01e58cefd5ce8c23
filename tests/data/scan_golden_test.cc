// The exact bits of scans, for ever: golden digests of all outputs, carries
// included, against the reference and every target of the optimized path.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/plan.h"
#include "tests/data/golden.h"
#include "tests/support/runnable_targets.h"
#include "verify/base/compare.h"
#include "verify/base/io/files.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

constexpr char kGoldens[] = "data/golden/mamba3_scan.golden";
constexpr const char* kSources[] = {"data/cases/smoke.cases",
                                    "data/cases/mamba3_scan.cases"};

// Digests by case line.
std::map<std::string, std::string> Goldens() {
  const auto bytes = ReadWholeFile(kGoldens, size_t{1} << 24);
  EXPECT_TRUE(bytes.ok()) << bytes.message();
  std::map<std::string, std::string> goldens;
  if (!bytes.ok()) return goldens;
  std::string_view text(reinterpret_cast<const char*>(bytes->data()),
                        bytes->size());
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const size_t arrow = line.find(" => ");
    EXPECT_NE(arrow, line.npos) << line;
    if (arrow == line.npos) continue;
    EXPECT_TRUE(
        goldens.emplace(line.substr(0, arrow), line.substr(arrow + 4)).second)
        << line;
  }
  return goldens;
}

void ExpectReproduced(const TrialKernel& kernel) {
  const auto goldens = Goldens();
  EXPECT_GE(goldens.size(), 180u);
  for (const auto& [line, digests] : goldens) {
    const auto c = ParseCase(line);
    ASSERT_TRUE(c.ok()) << line << ": " << c.message();
    const auto found = TrialDigests(c.value(), kernel);
    ASSERT_TRUE(found.ok()) << line << ": " << found.message();
    EXPECT_EQ(found.value(), digests) << line;
  }
}

TEST(ScanGolden, ReferenceReproducesEveryDigest) {
  ExpectReproduced([](const Trial& trial, const OutputSet& outputs) {
    Execution execution;
    return trial.RunReference(outputs, &execution);
  });
}

class ScanGoldenTarget : public test::CompiledTarget {};

TEST_P(ScanGoldenTarget, ReproducesEveryDigest) {
  ExpectReproduced([&](const Trial& trial, const OutputSet& outputs) {
    Variation how;
    how.target = GetParam().name;
    how.threads = 2;
    Execution execution;
    return trial.RunOptimized(how, outputs, &execution);
  });
}

INSTANTIATE_TEST_SUITE_P(All, ScanGoldenTarget,
                         testing::ValuesIn(optimized::Targets()),
                         test::NameOfTarget);

TEST(ScanGolden, EveryCaseOfTheCaseFilesIsPinned) {
  auto goldens = Goldens();
  for (const char* path : kSources) {
    const auto cases = GoldenCases(path, false);
    ASSERT_TRUE(cases.ok()) << cases.message();
    for (const Case& c : cases.value()) {
      EXPECT_EQ(goldens.erase(MinimalLine(c)), 1u) << MinimalLine(c);
    }
  }
  for (const auto& [line, digests] : goldens) {
    ADD_FAILURE() << "in no case file: " << line;
  }
}

// The truth that the judge computes run by run is the whole scan's.
TEST(ScanGolden, RowsOfTheTruthAreTheWhole) {
  for (const auto& [line, digests] : Goldens()) {
    const auto c = ParseCase(line);
    ASSERT_TRUE(c.ok());
    const auto trial = TrialRowOf(c.value())->open(c.value(), {});
    ASSERT_TRUE(trial.ok());
    const auto outputs = trial.value()->Allocate(0);
    ASSERT_TRUE(outputs.ok());
    Execution execution;
    trial.value()->RunReference(outputs.value(), &execution);
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
      EXPECT_EQ(seen[t], specs[t].lines() * specs[t].shape[3]) << line;
    }
  }
}

}  // namespace
}  // namespace lockstep::verify
