// Laws of a scan that need no truth, and the faults that break them.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "verify/case.h"
#include "verify/compare.h"
#include "verify/emulator/scan.h"
#include "verify/inputs_mamba3_scan.h"
#include "verify/mutants.h"
#include "verify/op.h"
#include "verify/ops/mamba3_scan.h"
#include "verify/scan_zoo.h"

namespace lockstep::verify {
namespace {

std::unique_ptr<Trial> Open(const std::string& line) {
  const auto c = ParseCase(line);
  EXPECT_TRUE(c.ok()) << line << ": " << c.message();
  auto trial = FindOp(c.value())->open(c.value(), {});
  EXPECT_TRUE(trial.ok()) << line << ": " << trial.message();
  return std::move(trial.value());
}

// Names of the laws that an emulated kernel breaks.
std::string BrokenLaws(const ScanVariant& variant, ScanFault fault,
                       const std::string& line) {
  const auto trial = Open(line);
  ScanEmulator emulator(variant, {fault});
  const auto run = [&](const Trial& on) {
    auto outputs = on.Allocate(0);
    EXPECT_TRUE(outputs.ok());
    const auto& scan = static_cast<const Mamba3ScanTrial&>(on);
    emulator.Run(scan.data().problem, scan.data().inputs,
                 scan.Views(outputs.value()));
    return std::move(outputs.value());
  };
  const OutputSet base = run(*trial);
  std::string broken;
  const auto laws = trial->Laws();
  EXPECT_TRUE(laws.ok()) << laws.message();
  for (const Law& law : laws.value()) {
    const OutputSet other = run(*law.trial);
    bool kept = true;
    for (size_t t = 0; t < trial->outputs().size(); ++t) {
      const OutputSpec& spec = trial->outputs()[t];
      for (const int64_t one : law.kept[t]) {
        for (int64_t c = 0; c < spec.shape[3]; ++c) {
          const auto at = LineIndex(spec, one, c);
          kept = kept && ElementBits(base.tensors[t].const_view(), at) ==
                             ElementBits(other.tensors[t].const_view(), at);
        }
      }
    }
    if (!kept) broken += law.name + " ";
  }
  return broken;
}

constexpr const char* kThreeRuns =
    "mamba3_scan t=9 h=2 n=8 p=3 seg=ids:0*2,1*3,0*4 carry=yes seed=5";

TEST(ScanLaws, NoCorrectKernelBreaksOne) {
  for (const ScanVariant& variant : ScanZoo()) {
    std::string line = kThreeRuns;
    if (*variant.numeric.lane == Lane::kBf16) line += " lane=bf16";
    EXPECT_EQ(BrokenLaws(variant, ScanFault::kNone, line), "")
        << variant.name();
  }
  EXPECT_EQ(Open(kThreeRuns)->Laws()->size(), 3u);
  EXPECT_EQ(Open("mamba3_step b=2 t=4 n=8 p=2")->Laws()->size(), 2u);
}

TEST(ScanLaws, EachIsBroken) {
  const ScanVariant scan = FindScanVariant("scan").value();
  EXPECT_EQ(BrokenLaws(scan, ScanFault::kDiagonalUsesS, kThreeRuns),
            "causality ");
  EXPECT_EQ(BrokenLaws(scan, ScanFault::kMaskMultiplies, kThreeRuns),
            "isolation ");
  EXPECT_NE(BrokenLaws(scan, ScanFault::kIdsEqual,
                       "mamba3_scan t=9 n=8 p=3 seg=ids:0*1,1*1,0*7")
                .find("encoding"),
            std::string::npos);
  EXPECT_NE(BrokenLaws(scan, ScanFault::kIntraIgnoresRuns, kThreeRuns)
                .find("isolation"),
            std::string::npos);
}

// The emulator without a fault is a scan; every fault changes something on its
// pattern.
TEST(ScanEmulator, EveryFaultIsVisibleAndNamedOnce) {
  int64_t scans = 0;
  for (const MutantInfo& info : Mutants()) {
    if (info.attention()) continue;
    ++scans;
    const auto mutant = ParseMutant(info.name);
    ASSERT_TRUE(mutant.ok());
    const auto sequence = ParseCaseSequence(info.pattern);
    ASSERT_TRUE(sequence.ok()) << info.name << ": " << sequence.message();
    const Case& c = sequence->back();
    ASSERT_TRUE(ValidateCase(c).ok()) << info.name;
    EXPECT_STREQ(OpName(c), info.op);
  }
  EXPECT_GE(scans, 55);
}

}  // namespace
}  // namespace lockstep::verify
