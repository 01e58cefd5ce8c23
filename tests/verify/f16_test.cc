// What the judge says of f16: sets with its spacing and its end, no alarm on
// correct kernels where it is subnormal or nearly infinite, and a finding on
// each bug of kernels that leave its range.
#include <gtest/gtest.h>

#include <string>

#include "tests/verify/judge_line.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/rounding.h"

namespace lockstep::verify {
namespace {

// f16's subnormal numbers are multiples of 2^-24, and from 65520 on nothing is
// finite.
TEST(RoundedSet, KnowsWhereF16Ends) {
  const auto f16 = [](double lo, double hi) {
    return RoundedSet(lo, hi, Lane::kF16, Rounding::kNearest);
  };
  EXPECT_EQ(f16(1 + 0x1p-11, 1 + 0x1p-11).hi, 1);
  EXPECT_EQ(f16(1 + 3 * 0x1p-11, 2).lo, 1 + 0x1p-9);
  EXPECT_EQ(f16(0x1p-25, 0x1.8p-24).lo, 0);
  EXPECT_EQ(f16(0x1p-25, 0x1.8p-24).hi, 0x1p-23);
  EXPECT_EQ(f16(0x1.ffep-15, 1).lo, 0x1p-14);
  EXPECT_EQ(f16(0, 65519.999).hi, 65504);
  EXPECT_EQ(f16(0, 65520).hi, kInf);
  EXPECT_EQ(f16(-65520, 0).lo, -kInf);
  const auto cut = RoundedSet(-70000, 70000, Lane::kF16, Rounding::kTruncate);
  EXPECT_EQ(cut.lo, -65504);
  EXPECT_EQ(cut.hi, 65504);
}

// The ends of the range, by tensor: every field that has an absolute part.
constexpr const char* kEnds[] = {
    "attention_forward hq=2 sq=9 skv=50 d=16 lane=f16 "
    "fill=normal:1+v.subnormal:1",
    "attention_forward sq=9 skv=50 d=16 lane=f16 scale=1024 "
    "fill=normal:1+k.subnormal:1",
    "attention_forward sq=9 skv=50 d=16 lane=f16 scale=0x1p-12 fill=normal:64",
    "attention_forward sq=9 skv=50 d=16 lane=f16 fill=normal:1+v.huge:0.3",
    "attention_forward sq=2 skv=1025 d=1 lane=f16 "
    "fill=uniform:1,2+peak:16.5,2000",
    "attention_forward hq=2 sq=9 skv=50 d=16 lane=f16 cap=60 fill=spread:40",
    "attention_forward sq=9 skv=50 d=16 lane=f16 "
    "fill=normal:1+special:0.01",
};
constexpr const char* kKernels[] = {
    "exact-f16",       "flash-f16",           "flash-f16-descending",
    "flash-f16-split", "flash-f16-l-rounded", "flash-f16-p-f32",
    "flash-f16-cut",   "flash-f16-lazy",      "flash-f16-scaled-q",
    "f16-scores",      "unfused-f16-lane",    "flash-f16-sums",
    "mma-f16"};

TEST(F16, CorrectKernelsRaiseNoAlarm) {
  for (const char* line : kEnds) {
    for (const char* kernel : kKernels) {
      const CaseResult result =
          JudgeSpec(line, std::string("variant:") + kernel);
      EXPECT_NE(result.verdict, Verdict::kFail)
          << kernel << " " << line << ": " << result.reason;
      EXPECT_GT(result.rows_compared, 0) << kernel << " " << line;
    }
  }
}

// The same of scans and their gradients.
constexpr const char* kScanEnds[] = {
    "t=9 n=8 p=4 lane=f16 gate=yes carry=yes",
    "t=9 n=8 p=4 lane=f16 fill=normal:1+subnormal:0.3",
    "t=9 n=8 p=4 lane=f16 fill=normal:1+v.subnormal:1 gate=yes",
    "t=9 n=8 p=4 lane=f16 fill=normal:1+v.huge:0.3",
    "t=9 n=8 p=4 lane=f16 norm=1e-5 fill=normal:100+v.normal:10000",
    "t=9 n=8 p=4 lane=f16 fill=normal:0.01+q.normal:0.001",
    "t=9 n=8 p=4 lane=f16 fill=normal:1+special:0.02",
    "t=70 n=8 p=4 lane=f16 regime=long",
    "t=70 h=2 n=8 p=4 lane=f16 rot=f16 variant=mimo r=2 reduce=yes gate=yes",
};
constexpr const char* kScanKernels[] = {
    "scan-f16-lane",    "scan-f16-recurrent",
    "siso-f16",         "siso-f16-chunk64",
    "siso-f16-segment", "mimo-f16",
    "mimo-f16-chunk16", "step-f16"};
constexpr const char* kScanGradientKernels[] = {
    "scan-grad-f16-lane", "scan-grad-siso-f16", "scan-grad-siso-f16-pairs",
    "scan-grad-siso-f16-partial", "scan-grad-mimo-f16"};

void ExpectNoAlarm(const std::string& line, const char* kernel) {
  const CaseResult result = JudgeSpec(line, std::string("variant:") + kernel);
  EXPECT_NE(result.verdict, Verdict::kFail)
      << kernel << " " << line << ": " << result.reason;
  EXPECT_GT(result.rows_compared, 0) << kernel << " " << line;
}

TEST(F16, CorrectScansRaiseNoAlarm) {
  for (const std::string line : kScanEnds) {
    for (const char* kernel : kScanKernels) {
      ExpectNoAlarm("mamba3_scan " + line, kernel);
    }
    for (const char* kernel : kScanGradientKernels) {
      ExpectNoAlarm("mamba3_scan_backward " + line, kernel);
    }
  }
  ExpectNoAlarm("ssd_scan t=70 n=8 p=4 lane=f16", "ssd-f16");
}

}  // namespace
}  // namespace lockstep::verify
