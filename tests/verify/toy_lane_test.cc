// One row for a lane: tensors of a lane that nothing else knows are stored,
// filled, rounded, judged, drawn, fuzzed and exported by its row alone.
#include "tests/verify/toy_lane.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "fuzz/run.h"
#include "reference/elementary.h"
#include "tests/verify/fake_candidate.h"
#include "tests/verify/judge_line.h"
#include "verify/base/elements.h"
#include "verify/domain/domain.h"
#include "verify/inputs/attention_forward.h"
#include "verify/registry/ops.h"
#include "verify/report/export.h"

namespace lockstep::verify::toy {
namespace {

constexpr const char* kCase =
    "attention_forward hq=2 hkv=1 sq=5 skv=40 d=8 lane=toy mask=causal";

// Any order of sums in f32, in any lane.
JudgeOptions Bounded() {
  JudgeOptions options = With("cpu-f32");
  options.profile->lane.reset();
  return options;
}

// Changes each element of o by its value.
template <class F>
FakeCandidate Changing(const F& change) {
  return FakeCandidate([change](int64_t, const Variation&,
                                const OutputSet& outputs, Execution*) {
    const MutableLaneView& o = outputs.tensors[0].view;
    ForElements(o.shape, [&](const At& at) {
      const uint32_t bits = ElementBits(outputs.tensors[0].const_view(), at);
      SetElement(o, at, change(bits));
    });
    return RunOutcome{};
  });
}
uint32_t ThroughBf16(uint32_t bits) {
  const float x = Widen(static_cast<uint16_t>(bits));
  return Round(reference::RoundToBf16Lane(x));
}
uint32_t ThroughF16(uint32_t bits) {
  const float x = Widen(static_cast<uint16_t>(bits));
  return Round(ToFloat(reference::RoundToF16(x)));
}

TEST(ToyLane, RowSaysWhatItsFunctionsDo) {
  const Added added;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = Widen(static_cast<uint16_t>(bits));
    EXPECT_EQ(Round(x), std::isnan(x) ? kRow.nan : bits);
    if (std::isnan(x)) continue;
    EXPECT_EQ(reference::RoundToLane(x, Lane::kAdded), x) << bits;
  }
  EXPECT_EQ(Widen(kInfinity - 1), kRow.largest);
  EXPECT_EQ(Widen(1), kRow.smallest);
  const auto rounded = [](double x) {
    return reference::RoundToLane(static_cast<float>(x), Lane::kAdded);
  };
  EXPECT_EQ(rounded(1 + kRow.roundoff), 1);
  EXPECT_EQ(rounded(1 + 3 * kRow.roundoff), 1 + 4 * kRow.roundoff);
  EXPECT_EQ(rounded(kRow.smallest / 2), 0);
  EXPECT_TRUE(std::isinf(rounded(0x1.ffcp31)));
  // N10's weights have the lane's digits and f32's exponents.
  EXPECT_EQ(reference::RoundWeight(0x1.004p-100f, Lane::kAdded), 0x1p-100f);
  EXPECT_EQ(reference::RoundWeight(0x1.00cp-100f, Lane::kAdded), 0x1.01p-100f);
}

TEST(ToyLane, IsAWordOfCaseLinesOnlyWhereItIsAdded) {
  EXPECT_NE(ParseCase(kCase).message().find("found 'toy'"), std::string::npos);
  const Added added;
  EXPECT_EQ(MinimalLine(ParseCase(kCase).value()), kCase);
}

TEST(ToyLane, InputsAreStoredInIt) {
  const Added added;
  const auto data = [](const std::string& lane) {
    const std::string line =
        "attention_forward sq=9 skv=9 d=64 fill=normal:1+v.subnormal:1";
    const Case c = ParseCase(line + " lane=" + lane).value();
    return std::move(Materialise(c, {}).value());
  };
  const auto toy = data("toy");
  const auto wide = data("f32");
  std::set<float> values;
  ForElements(toy.inputs.q.shape, [&](const At& at) {
    const auto [b, h, i, c] = at;
    const float x = toy.inputs.q.Float(b, h, i, c);
    EXPECT_EQ(x, Widen(Round(wide.inputs.q.Float(b, h, i, c))));
    values.insert(x);
    const float v = std::fabs(toy.inputs.v.Float(b, h, i, c));
    EXPECT_GE(v, kRow.smallest);
    EXPECT_LT(v, std::ldexp(1.0f, kLeast));
  });
  EXPECT_GT(values.size(), 300u);
}

TEST(ToyLane, CorrectKernelsPassAndWrongOnesFail) {
  const Added added;
  const std::string huge = std::string(kCase) + " fill=normal:1+v.huge:0.3";
  for (const JudgeOptions& options : {JudgeOptions{}, Bounded()}) {
    for (const std::string& line : {std::string(kCase), huge}) {
      FakeCandidate right = Changing([](uint32_t bits) { return bits; });
      EXPECT_EQ(JudgeLine(line, right, options).verdict, Verdict::kPass);
    }
    FakeCandidate place = Changing([](uint32_t bits) { return bits ^ 1u; });
    EXPECT_EQ(JudgeLine(kCase, place, options).verdict, Verdict::kFail);
    FakeCandidate bf16 = Changing(&ThroughBf16);
    EXPECT_EQ(JudgeLine(kCase, bf16, options).verdict, Verdict::kFail);
    // Its numbers have the digits of f16; its range is larger.
    FakeCandidate f16 = Changing(&ThroughF16);
    EXPECT_EQ(JudgeLine(huge, f16, options).verdict, Verdict::kFail);
  }
}

TEST(ToyLane, ReferenceStandsInForKernelsThatDoNotHaveIt) {
  const Added added;
  for (const std::string line :
       {kCase, "attention_forward sq=3 skv=20 d=4 p=toy",
        "attention_backward sq=3 skv=20 d=4 lane=toy",
        "attention_merge s=3 n=3 dv=4 lane=toy",
        "mamba3_scan t=9 n=8 p=4 lane=toy",
        "mamba3_scan_backward t=9 n=8 p=4 lane=toy",
        "ssd_scan t=9 n=8 p=4 lane=toy"}) {
    const CaseResult result = JudgeSpec(line, "builtin:optimized");
    EXPECT_EQ(result.verdict, Verdict::kPass) << line << ": " << result.reason;
    EXPECT_EQ(result.execution.backend, "reference");
    EXPECT_EQ(result.execution.fallback_reason, "no kernel has lane toy");
  }
}

TEST(ToyLane, IsDrawnAndShrunk) {
  const Added added;
  fuzz::Plan plan;
  plan.domain = FindDomain("attention_forward").value();
  plan.draw.lane = Lane::kAdded;
  plan.budget.cases = 30;
  fuzz::Progress progress;
  fuzz::Observer observer;
  const fuzz::Target target =
      fuzz::Target::Open("builtin:reference", "").value();
  const auto report = RunPlan(plan, target, &observer, &progress);
  EXPECT_TRUE(report->faults.empty());
  EXPECT_EQ(report->fresh, 30);
}

TEST(ToyLane, IsExportedAndReadBack) {
  const Added added;
  const std::string folder = testing::TempDir() + "/toy_lane";
  std::filesystem::create_directories(folder);
  const Case c = ParseCase(kCase).value();
  const Status made = ExportCase(c, folder + "/1", true, {});
  ASSERT_TRUE(made.ok()) << made.message();
  std::filesystem::rename(folder + "/1/expected.safetensors",
                          folder + "/1/outputs.safetensors");
  EXPECT_EQ(JudgeSpec(kCase, "files:" + folder).verdict, Verdict::kPass);
}

}  // namespace
}  // namespace lockstep::verify::toy
