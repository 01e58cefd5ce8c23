// masked_nan_safe: what NaN behind a mask may change, and which cases a profile
// leaves out for it.
#include <gtest/gtest.h>

#include <string>

#include "tests/verify/judge_line.h"

namespace lockstep::verify {
namespace {

const std::string kPadded =
    "attention_forward b=2 sq=6 skv=12 d=8 valid_kv=9,5 "
    "fill=normal:1+poison:masked seed=1";
// Rows of one document see a NaN that rows of the other do not.
const std::string kSeen =
    "attention_forward sq=6 skv=12 d=8 q_seg=runs:3,3 kv_seg=runs:6,6 "
    "fill=normal:1+v.special:0.05 seed=1";

CaseResult MaskedNanResult(const std::string& line, const std::string& spec,
                           MaskedNan safe) {
  JudgeOptions options = With("cpu-f32");
  options.profile->masked_nan_safe = safe;
  options.profile->nan = NanPolicy::kUnspecified;
  return JudgeSpec(line, spec, options);
}

// A kernel whose padding leaks is found, one that guards its padding passes.
TEST(MaskedNan, PaddingIsJudged) {
  const std::string leaks = "mutant:attn.mask_multiplies_p,base=cpu";
  EXPECT_EQ(MaskedNanResult(kPadded, leaks, MaskedNan::kPadding).verdict,
            Verdict::kFail);
  EXPECT_EQ(MaskedNanResult(kPadded, leaks, MaskedNan::kNo).verdict,
            Verdict::kSkipped);
  const CaseResult guarded = MaskedNanResult(
      kPadded, "variant:cpu-guarded-padding", MaskedNan::kPadding);
  EXPECT_EQ(guarded.verdict, Verdict::kPass) << guarded.reason;
}

// The kernel that guards its padding alone breaks where NaN is seen by some.
TEST(MaskedNan, KeysThatAreSeenAreLeftOut) {
  const std::string guards = "variant:cpu-guarded-padding";
  EXPECT_EQ(MaskedNanResult(kSeen, guards, MaskedNan::kYes).verdict,
            Verdict::kFail);
  const CaseResult left_out =
      MaskedNanResult(kSeen, guards, MaskedNan::kPadding);
  EXPECT_EQ(left_out.verdict, Verdict::kSkipped);
  EXPECT_NE(left_out.reason.find("masked_nan_safe = padding"),
            std::string::npos)
      << left_out.reason;
}

TEST(MaskedNan, ProfilesSayIt) {
  const auto profile = ParseProfile(
      "base = cpu-f32\nname = p\nmasked_nan_safe = padding\n", "p");
  ASSERT_TRUE(profile.ok()) << profile.message();
  EXPECT_EQ(profile->masked_nan_safe, MaskedNan::kPadding);
  EXPECT_NE(ProfileText(profile.value()).find("masked_nan_safe = padding"),
            std::string::npos);
  const auto wrong =
      ParseProfile("base = cpu-f32\nname = p\nmasked_nan_safe = maybe\n", "p");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.message().find("no padding yes"), std::string::npos)
      << wrong.message();
}

}  // namespace
}  // namespace lockstep::verify
