// Angles over many tokens: kernels that never reduce them, or by a pi of five
// digits, and right ones at the same lengths.
#include <gtest/gtest.h>

#include <string>

#include "tests/verify/judge_line.h"

namespace lockstep::verify {
namespace {

// The probe alone; all kinds of its angles are among two heads of two.
std::string Line(int64_t tokens) {
  return "mamba3_scan t=" + std::to_string(tokens) +
         " h=2 n=4 p=1 s=2 fill=probe:spin seed=1";
}

JudgeOptions Quick() {
  JudgeOptions options;
  options.invariance = options.canaries = options.causes = false;
  options.evidence = options.one_field = false;
  return options;
}

TEST(ScanAngles, WrongOnesFailAtEveryLength) {
  for (const char* bug :
       {"scan.angle_never_reduced", "scan.turns_never_reduced",
        "scan.period_of_five_digits", "scan.rate_by_five_digits",
        "scan.pi_of_five_digits"}) {
    for (const int64_t tokens : {1024, 4096}) {
      const CaseResult result =
          JudgeSpec(Line(tokens), "mutant:" + std::string(bug), Quick());
      EXPECT_EQ(result.verdict, Verdict::kFail) << bug << " " << tokens;
    }
  }
}

TEST(ScanAngles, RightOnesPassAtEveryLength) {
  for (const char* kernel :
       {"scan", "scan-turns", "scan-chunk64", "scan-recurrent",
        "scan-recurrent-turns", "scan-unreduced"}) {
    for (const int64_t tokens : {9, 1024}) {
      const CaseResult result =
          JudgeSpec(Line(tokens), "variant:" + std::string(kernel), Quick());
      EXPECT_EQ(result.verdict, Verdict::kPass)
          << kernel << " " << tokens << result.reason;
    }
  }
}

// A kernel that declares chunks of any length reduces what it adds up over 64
// tokens: the whole of a long run is `unreduced`. No chunk excuses a coarse pi.
TEST(ScanAngles, AnyChunkIsNoLicence) {
  JudgeOptions options = Quick();
  options.profile = LoadProfile("scan-f32").value();
  for (const char* bug :
       {"scan.angle_never_reduced", "scan.period_of_five_digits",
        "scan.rate_by_five_digits", "scan.pi_of_five_digits"}) {
    EXPECT_EQ(
        JudgeSpec(Line(1024), "mutant:" + std::string(bug), options).verdict,
        Verdict::kFail)
        << bug;
  }
  options.profile->scan->angle_form = AngleForm::kUnreduced;
  EXPECT_NE(
      JudgeSpec(Line(1024), "mutant:scan.angle_never_reduced", options).verdict,
      Verdict::kFail);
}

}  // namespace
}  // namespace lockstep::verify
