#include "verify/profile.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::verify {
namespace {

std::string ErrorOf(const char* text) {
  const Result<NumericProfile> profile = ParseProfile(text, "x");
  return profile.ok() ? "" : profile.message();
}

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST(Profile, BuiltinNamesAreTheDeclaredOnes) {
  std::string names;
  for (const NumericProfile& p : BuiltinProfiles()) names += p.name + " ";
  EXPECT_EQ(names,
            "exact-f32 exact-bf16 cpu-f32 flash-bf16 splash-bf16 mma-bf16 "
            "scan-f32 scan-chunked siso-bf16-a16 siso-bf16-a32 mimo-bf16 "
            "step-f32state "
            "step-bf16read ");
}

TEST(Profile, TextIsTheInverseOfParsing) {
  for (const NumericProfile& p : BuiltinProfiles()) {
    EXPECT_EQ(LintProfile(p), "") << p.name;
    const Result<NumericProfile> again = ParseProfile(ProfileText(p), "x");
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_EQ(again.value(), p) << p.name;
  }
}

TEST(Profile, StartsFromABase) {
  const Result<NumericProfile> p = ParseProfile(
      "base = flash-bf16  # comment\nname = mine\np = f16\nmax = lazy:8\n"
      "acc_pv = mma:8,2\n",
      "x");
  ASSERT_TRUE(p.ok()) << p.message();
  EXPECT_EQ(p->p, NumberType::kF16);
  EXPECT_EQ(p->max, (MaxPolicy{MaxPolicy::Kind::kLazy, 8}));
  EXPECT_EQ(p->acc_pv, (Accumulator{Accumulator::Kind::kMma, 8, 2}));
  EXPECT_EQ(p->shift, Shift::kFma);
}

TEST(Profile, ErrorsSayWhereAndWhatWouldBeRight) {
  EXPECT_TRUE(Contains(ErrorOf("base = flash-bf16\nname = a\nexp_rl = 0"),
                       "x:3: unknown key 'exp_rl'; nearest is 'exp_rel'"));
  EXPECT_TRUE(Contains(ErrorOf("base = flash-bf17"), "x:1: base"));
  EXPECT_TRUE(Contains(ErrorOf("p = f8"), "x:1: p = 'f8': want one of"));
  EXPECT_TRUE(Contains(ErrorOf("p = f16\np = f16"), "second time"));
  EXPECT_TRUE(Contains(ErrorOf("p"), "want key = value"));
  EXPECT_TRUE(Contains(ErrorOf("name = a"), "missing key 'p'"));
  EXPECT_TRUE(Contains(ErrorOf("p = f16\nbase = cpu-f32"), "first key"));
  EXPECT_TRUE(Contains(ErrorOf("exp_rel = nan"), "an error in [0, 1)"));
  EXPECT_TRUE(Contains(ErrorOf("acc_qk = mma:0,1"), "mma:K,G"));
  EXPECT_TRUE(Contains(ErrorOf("max = lazy"), "lazy:T"));
  EXPECT_TRUE(Contains(ErrorOf("chain_kv = 0"), "count >= 1"));
}

TEST(Profile, RefusesContradictions) {
  const char* const lines[] = {"exact = yes",
                               "shift = integer",
                               "mask = select_finite",
                               "empty_row = mean_visited",
                               "exp_base = e",
                               "p = f32\nl_from = rounded",
                               "p = f32\np_round = truncate",
                               "tile_kv = 16\nchain_kv = 32"};
  for (const char* line : lines) {
    // shift = integer alone is no contradiction with base 2.
    const bool legal = std::string(line) == "shift = integer";
    const std::string text =
        "base = flash-bf16\nname = a\n" + std::string(line);
    EXPECT_EQ(ErrorOf(text.c_str()).empty(), legal) << line;
  }
}

TEST(Profile, LoadNamesTheKnownOnes) {
  EXPECT_TRUE(LoadProfile("cpu-f32").ok());
  EXPECT_TRUE(Contains(LoadProfile("cpu-f33").message(), "flash-bf16"));
}

}  // namespace
}  // namespace lockstep::verify
