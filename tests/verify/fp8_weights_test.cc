// Weights in e4m3 (profile fields p, p_scale and vscale_at): the type's
// numbers, no alarm on right kernels at the ends of its range, and a finding
// where a profile says less than the kernel does.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "tests/verify/judge_line.h"
#include "verify/base/elements.h"
#include "verify/base/random/deviates.h"
#include "verify/domain/draws/further.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

TEST(Fp8Weights, AreThoseOfTheLane) {
  for (int step = 0; step < 40000; ++step) {
    const float x = std::exp2(static_cast<float>(step) / 2000 - 11);
    const uint32_t bits = BitsOf(Lane::kE4m3, static_cast<double>(x));
    EXPECT_EQ(static_cast<double>(RoundToE4m3(x)),
              ElementValue(Lane::kE4m3, bits))
        << x;
    EXPECT_EQ(RoundToE4m3(-x), -RoundToE4m3(x));
  }
  EXPECT_EQ(RoundToE4m3(0x1p-10f), 0);  // to even
  EXPECT_EQ(RoundToE4m3(1e30f), 448);
  EXPECT_TRUE(std::isnan(RoundToE4m3(kFloatNaN)));
}

// Weights that vanish, saturate nearly, or have a scale of their value's.
constexpr const char* kWeightLines[] = {
    "attention_forward hq=2 sq=9 skv=100 d=16 lane=bf16 kvlane=e4m3",
    "attention_forward hq=2 sq=9 skv=100 d=16 lane=bf16 kvlane=e4m3 "
    "qlane=e4m3 qscale=tensor:0.3 kscale=tensor:0.7 vscale=tensor:1.7",
    "attention_forward hq=2 sq=9 skv=100 d=16 lane=bf16 cap=30 kvlane=e4m3 "
    "vscale=head:uniform:0.01,0.02 fill=normal:1+spread:40",
    "attention_forward hq=2 sq=9 skv=100 d=16 lane=bf16 cap=30 kvlane=e4m3 "
    "vscale=token:uniform:0.01,100 mask=causal align=br",
    "attention_forward hq=2 sq=9 skv=70 d=16 lane=bf16 kvlane=e5m2 "
    "vscale=block:16:uniform:0.5,4 fill=normal:1+v.huge:0.3",
    "attention_forward sq=2 skv=1025 d=1 lane=bf16 kvlane=e4m3 "
    "fill=uniform:1,2+peak:5,2000",
    "attention_forward sq=5 skv=40 d=8 lane=bf16 kvlane=e4m3 fill=const:0.01",
    "attention_forward sq=5 skv=40 d=8 lane=bf16 fill=normal:0.05",
    "attention_forward b=2 sq=9 skv=5 d=8 lane=bf16 kvlane=e4m3 mask=causal "
    "align=br sinklogit=normal:2",
};
constexpr const char* kWeightKernels[] = {
    "fp8-fa3",       "fp8-cudnn",      "fp8-p-unscaled",   "fp8-p-e4m3",
    "fp8-l-rounded", "fp8-scale-in-p", "fp8-scale-in-acc", "fp8-unfused"};

TEST(Fp8Weights, CorrectKernelsRaiseNoAlarm) {
  for (const char* line : kWeightLines) {
    for (const char* kernel : kWeightKernels) {
      const CaseResult result =
          JudgeSpec(line, std::string("variant:") + kernel);
      EXPECT_NE(result.verdict, Verdict::kFail) << kernel << " on " << line;
    }
  }
}

TEST(Fp8Weights, CorrectKernelsPassOrdinaryData) {
  const struct {
    const char* kernel;
    const char* profile;
  } kPasses[] = {{"fp8-fa3", "fa3-fp8"},   {"fp8-cudnn", "cudnn-fp8"},
                 {"fp8-fa3", "cudnn-fp8"}, {"fp8-p-e4m3", "fa3-fp8"},
                 {"flash", "fa3-fp8"},     {"fp8-p-unscaled", "cudnn-fp8"}};
  for (const auto& [kernel, profile] : kPasses) {
    const CaseResult result = JudgeSpec(
        "attention_forward hq=4 hkv=2 sq=40 skv=129 d=64 lane=bf16 cap=50 "
        "mask=causal align=br kvlane=e4m3 kscale=head:uniform:0.5,2 "
        "vscale=head:uniform:0.5,2 qlane=e4m3 qscale=head:uniform:0.5,2",
        std::string("variant:") + kernel, With(profile));
    EXPECT_EQ(result.verdict, Verdict::kPass) << kernel << " by " << profile;
  }
}

// Sums of 448 v need more bits than Hopper's sums have, sooner than sums of v.
TEST(Fp8Weights, ProbesKnowShortAccumulators) {
  const CaseResult result = JudgeSpec(
      "attention_forward b=3 hq=2 sq=1 skv=539 d=1 lane=bf16 "
      "fill=probe:head-tag",
      "variant:fp8-cudnn", With("cudnn-fp8"));
  EXPECT_EQ(result.verdict, Verdict::kPass);
}

// A profile that says less than the kernel does.
TEST(Fp8Weights, FieldsThatAreNotTrueAreFound) {
  const std::string flat =
      "attention_forward hq=2 sq=33 skv=101 d=16 lane=bf16 kvlane=e4m3";
  const std::string small = flat + " vscale=tensor:0x1p-14";
  const std::string late =
      "attention_forward sq=2 skv=1025 d=1 lane=bf16 kvlane=e4m3 "
      "fill=uniform:1,2+peak:7,2000";
  const struct {
    const char* kernel;
    std::string line;
    const char* profile;
  } kFound[] = {
      {"fp8-p-e4m3", flat, "base = flash-bf16; name = a"},
      {"fp8-p-e4m3", flat, "base = flash-f16; name = a; lane = bf16"},
      // Weights times 2^-14 vanish before they meet V.
      {"fp8-scale-in-p", small, "base = cudnn-fp8; name = a; p_scale = 256"},
      {"fp8-scale-in-p", small, "base = cudnn-fp8; name = a; vscale_at = acc"},
      // Without its scale a weight of e^-7 is nothing, and there are many.
      {"fp8-p-unscaled", late,
       "base = flash-bf16; name = a; p = e4m3; p_scale = 256"},
  };
  for (const auto& [kernel, line, profile] : kFound) {
    const CaseResult result =
        JudgeSpec(line, std::string("variant:") + kernel, With(profile));
    EXPECT_EQ(result.verdict, Verdict::kFail) << kernel << " by " << profile;
  }
}

// Ordinary lines hide weights without their scale; the draw of small weights,
// which verify adds where p is in fp8, does not.
TEST(Fp8Weights, OneDrawShowsSmallWeights) {
  const JudgeOptions claims =
      With("base = flash-bf16; name = a; p = e4m3; p_scale = 256");
  for (const char* line :
       {"attention_forward hq=2 sq=33 skv=101 d=16 lane=bf16 kvlane=e4m3",
        "attention_forward hq=4 hkv=2 sq=20 skv=129 d=64 lane=bf16 "
        "kvlane=e4m3 kscale=tensor:0.5",
        "attention_forward hq=2 sq=1 skv=300 d=32 lane=bf16 kvlane=e5m2"}) {
    const auto judged = [&](const Case& c) {
      return JudgeSpec(MinimalLine(c), "variant:fp8-p-unscaled", claims)
          .verdict;
    };
    const Case own = ParseCase(line).value();
    EXPECT_EQ(judged(own), Verdict::kPass) << line;
    bool shown = false;
    for (const Case& c : FurtherDraws(own, 1, true)) {
      shown |= judged(c) == Verdict::kFail;
    }
    EXPECT_TRUE(shown) << line;
    // The right kernel passes it.
    for (const Case& c : FurtherDraws(own, 1, true)) {
      EXPECT_NE(JudgeSpec(MinimalLine(c), "variant:fp8-p-e4m3", claims).verdict,
                Verdict::kFail)
          << MinimalLine(c);
    }
  }
}

// What the profile leaves open is no proof: weights beyond 448, and a scale of
// its own a key where o takes all of it.
TEST(Fp8Weights, OpenCasesAreNotJudged) {
  const struct {
    const char* line;
    const char* profile;
  } kOpen[] = {{"attention_forward sq=5 skv=40 d=8 lane=bf16 kvlane=e4m3",
                "base = fa3-fp8; name = a; max = lazy:8"},
               {"attention_forward sq=5 skv=40 d=8 lane=bf16 kvlane=e4m3 "
                "vscale=token:uniform:0.5,2",
                "fa3-fp8"},
               {"attention_forward sq=5 skv=40 d=8 lane=bf16 cap=5 kvlane=e4m3",
                "base = cudnn-fp8; name = a; max = none"}};
  for (const auto& [line, profile] : kOpen) {
    const CaseResult result = JudgeSpec(line, "variant:flash", With(profile));
    EXPECT_EQ(result.verdict, Verdict::kSkipped) << line << " by " << profile;
  }
}

}  // namespace
}  // namespace lockstep::verify
