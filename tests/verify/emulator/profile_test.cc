#include "verify/profile/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "reference/contract/matrix_units.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/profile/fields.h"

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
            "ampere-bf16 ada-bf16 hopper-bf16 blackwell-bf16 ampere-tf32 "
            "ada-tf32 hopper-tf32 blackwell-tf32 "
            "scan-f32 scan-chunked siso-bf16-a16 siso-bf16-a32 mimo-bf16 "
            "step-f32state "
            "step-bf16read exact-f16 flash-f16 mma-f16 siso-f16-a32 mimo-f16 "
            "fa3-fp8 cudnn-fp8 eager-bf16 eager-f16 torch-math-bf16 ");
}

TEST(Profile, TextIsTheInverseOfParsing) {
  for (const NumericProfile& p : BuiltinProfiles()) {
    EXPECT_EQ(LintProfile(p), "") << p.name;
    const Result<NumericProfile> again = ParseProfile(ProfileText(p), "x");
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_EQ(again.value(), p) << p.name;
  }
  for (const AttentionVariant& variant : AttentionZoo()) {
    const NumericProfile& p = variant.numeric;
    EXPECT_EQ(LintProfile(p), "") << p.name;
    const Result<NumericProfile> again = ParseProfile(ProfileText(p), "x");
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_EQ(again.value(), p) << p.name;
  }
}

TEST(Profile, EveryNumberThatIsTakenIsPrintedAsOneThatIs) {
  const std::string base = "base = cpu-f32\nname = mine\n";
  const char* const lines[] = {"tanh_rel = -0",
                               "exp_rel = -0x0p+0",
                               "division_rel = -0.0",
                               "max = lazy:-0",
                               "max = fixed:-5",
                               "max = fixed:-0x1.8p-3",
                               "max = fixed:0x5p2",
                               "max = fixed:-999999",
                               "log_rel = 1e-310",
                               "max = fixed:-0",
                               "p = e4m3\np_scale = 0x1p-59"};
  for (const std::string line : lines) {
    const auto profile = ParseProfile(base + line, "x");
    ASSERT_TRUE(profile.ok()) << line << ": " << profile.message();
    const std::string text = ProfileText(profile.value());
    const auto again = ParseProfile(text, "x");
    ASSERT_TRUE(again.ok()) << line << ": " << again.message();
    EXPECT_EQ(again.value(), profile.value()) << line;
    EXPECT_EQ(ProfileText(again.value()), text) << line;
  }
  for (const char* line : {"max = fixed:--5", "max = fixed:-", "exp_rel = -1",
                           "tanh_rel = 0x-1p-3", "max = fixed:-nan",
                           "max = fixed:-inf", "p = e4m3\np_scale = -1"}) {
    EXPECT_NE(ErrorOf((base + line).c_str()), "") << line;
  }
  EXPECT_EQ(ErrorOf("base = scan-f32\nname = s\nscan.trig_abs = -0"), "");
  EXPECT_TRUE(Contains(
      ErrorOf("base = scan-f32\nname = s\nscan.trig_abs = -0x1p-3"), ">= 0"));
}

TEST(Profile, LaterWordsAreLinesOnlyWhereTheySaySomething) {
  const NumericProfile eager =
      ParseProfile("base = eager-bf16\nname = e", "x").value();
  EXPECT_TRUE(Contains(ProfileText(eager), "score_round = each\nsink = bf16"));
  EXPECT_FALSE(Contains(ProfileText(BuiltinProfiles()[3]), "score_round"));
  EXPECT_FALSE(Contains(ProfileText(BuiltinProfiles()[3]), "sink ="));
}

TEST(Profile, ClaimsAreWords) {
  const std::string mine = "base = cpu-f32\nname = mine\n";
  const auto profile = ParseProfile(mine + "claims = chunk,batch", "x");
  ASSERT_TRUE(profile.ok()) << profile.message();
  EXPECT_EQ(PrintClaims(profile->claims), "batch, chunk");
  EXPECT_TRUE(Contains(ProfileText(profile.value()), "claims = batch, chunk"));
  // A profile that claims nothing has the text that it always had.
  EXPECT_FALSE(Contains(ProfileText(BuiltinProfiles()[0]), "claims ="));
  EXPECT_EQ(PrintClaims(ParseProfile(mine + "claims = all", "x")->claims),
            "repeat, batch, padding, chunk, decode, heads, split");
  EXPECT_TRUE(ParseProfile(mine + "claims = none", "x")->claims.Empty());
  EXPECT_TRUE(ParseProfile("base = scan-f32\nname = mine\nclaims = chunk", "x")
                  ->claims.Has(Claim::kChunk));
  EXPECT_EQ(ErrorOf((mine + "claims = batch, pages").c_str()),
            "x:3: claims: want some of repeat batch padding chunk decode heads "
            "split with commas between, or all, or none; claim 'pages' cannot "
            "be judged yet: no op here reads keys in pages");
  EXPECT_TRUE(Contains(ErrorOf((mine + "claims = merge").c_str()),
                       "claim 'merge' cannot be judged yet"));
  // A word of a file is not shown: it may be no profile.
  EXPECT_FALSE(Contains(ErrorOf((mine + "claims = secret").c_str()), "secret"));
  EXPECT_TRUE(Contains(ErrorOf((mine + "repeat = no\nclaims = batch").c_str()),
                       "repeat = no leaves nothing to claim"));
  EXPECT_EQ(ParseClaims("bach").message(),
            "claim 'bach' is not known; nearest is 'batch'; known: repeat "
            "batch padding chunk decode heads split, or all, or none");
}

// Whatever the fields hold, in whatever combination; a receipt's profile can be
// given again.
TEST(Profile, TextIsTheInverseOfParsingForMixtures) {
  std::mt19937 random(1);
  const auto builtins = BuiltinProfiles();
  const auto any = [&] { return builtins[random() % builtins.size()]; };
  int mixed = 0;
  for (int round = 0; round < 2000; ++round) {
    NumericProfile p = any();
    const std::string printed = "\n" + ProfileText(p);
    for (const ProfileField& field : ProfileFields()) {
      const std::string value = field.print(any());
      // A scan's profile says nothing of attention's fields, nor the reverse.
      const bool counts = printed.find(std::string("\n") + field.key + " = ") !=
                          std::string::npos;
      if (value.empty() || !counts || random() % 4 != 0) continue;
      NumericProfile changed = p;
      if (field.parse(value, &changed).empty()) p = changed;
    }
    if (random() % 2 == 0) p.description.clear();
    if (!LintProfile(p).empty()) continue;
    ++mixed;
    const std::string text = ProfileText(p);
    const Result<NumericProfile> again = ParseProfile(text, "x");
    ASSERT_TRUE(again.ok()) << again.message() << "\n" << text;
    ASSERT_EQ(again.value(), p) << text;
  }
  EXPECT_GT(mixed, 200);
}

// A file that is no profile may be one that the reader of a log may not see.
TEST(Profile, ErrorsShowNothingOfALineButItsKey) {
  std::string text =
      "secret-line\nKEY = secret\nlane = secret\nbase = secret\n";
  for (int n = 0; n < 100; ++n) text += "secret" + std::to_string(n) + "\n";
  const std::string errors = ErrorOf(text.c_str());
  EXPECT_FALSE(Contains(errors, "secret")) << errors;
  EXPECT_TRUE(Contains(errors, "KEY")) << errors;
  EXPECT_TRUE(Contains(errors, "more errors")) << errors;
  EXPECT_LE(std::count(errors.begin(), errors.end(), '\n'), 21);
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
  EXPECT_TRUE(Contains(ErrorOf("p = f8"), "x:1: p: want one of"));
  EXPECT_TRUE(Contains(ErrorOf("p = f16\np = f16"), "second time"));
  EXPECT_TRUE(Contains(ErrorOf("p"), "want key = value"));
  EXPECT_TRUE(Contains(ErrorOf("name = a"), "missing key 'p'"));
  EXPECT_TRUE(Contains(ErrorOf("p = f16\nbase = cpu-f32"), "first key"));
  EXPECT_TRUE(Contains(ErrorOf("exp_rel = nan"), "an error in [0, 1)"));
  EXPECT_TRUE(Contains(ErrorOf("acc_qk = mma:0,1"), "mma:K,G"));
  EXPECT_TRUE(Contains(ErrorOf("acc_qk = mma:32,-11"), "G in -10..24"));
  EXPECT_TRUE(Contains(ErrorOf("chain_order = up"), "one of any ascending"));
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
                               "tile_kv = 16\nchain_kv = 32",
                               "normalise = before",
                               "normalise = before\nmax = two_pass",
                               "normalise = before\nsplits = 1",
                               "normalise = before\nmax = none\nsplits = 1",
                               ("normalise = before\nmax = none\nsplits = 1\n"
                                "l_from = rounded"),
                               "operand_round = truncate",
                               "operand_v = case",
                               "operand_v = tf32\noperand_round = truncate",
                               "exp_zero = rel\nexp_rel = 0",
                               "exp_zero = weights",
                               "score_round = each",
                               "score = bf16\nscore_round = shift",
                               "lse = none\nlse_base = 2",
                               "lse = bf16\nlse_base = 2",
                               "p_scale = 256",
                               "p = e4m3\np_round = truncate",
                               "p = e4m3\np_scale = 256",
                               "chain_order = ascending",
                               "chain_order = ascending\nacc_pv = mma:16,2",
                               "chain_order = ascending\nacc_qk = mma:16,2"};
  // The others are no contradictions with base 2 and rounded weights.
  const std::string_view fine[] = {
      "shift = integer",
      "normalise = before\nmax = none\nsplits = 1",
      "operand_v = tf32\noperand_round = truncate",
      "exp_zero = weights",
      "lse = bf16\nlse_base = 2",
      "p = e4m3\np_scale = 256",
      "chain_order = ascending\nacc_pv = mma:16,2",
      "chain_order = ascending\nacc_qk = mma:16,2"};
  for (const char* line : lines) {
    const bool legal =
        std::find(std::begin(fine), std::end(fine), line) != std::end(fine);
    const std::string text =
        "base = flash-bf16\nname = a\n" + std::string(line);
    EXPECT_EQ(ErrorOf(text.c_str()).empty(), legal) << line;
  }
}

// The chips' sums are L and F - 23 of their matrix units, 16 bits and tf32.
TEST(Profile, ChipsHaveTheSumsOfTheirUnits) {
  int chips = 0;
  for (const MatrixUnit& unit : kMatrixUnits) {
    const std::string name = unit.chip + std::string("-") + unit.operand;
    const Result<NumericProfile> p = LoadProfile(name);
    if (!p.ok() || unit.accumulator != std::string_view("f32")) continue;
    const Accumulator sum = {Accumulator::Kind::kMma, unit.step.products,
                             unit.step.fraction - 23};
    EXPECT_EQ(p->acc_qk, sum) << name;
    EXPECT_EQ(p->acc_pv, sum) << name;
    EXPECT_EQ(p->grad->acc_dkv, sum) << name;
    ++chips;
  }
  EXPECT_EQ(chips, 10);  // Hopper's two instructions are one profile
}

// A file of before has no line for it, and means the same.
TEST(Profile, ChainOrderIsSaidWhereItIsClaimed) {
  NumericProfile p = LoadProfile("hopper-bf16").value();
  EXPECT_EQ(ProfileText(p).find("chain_order"), std::string::npos);
  p.chain_order = ChainOrder::kAscending;
  EXPECT_TRUE(Contains(ProfileText(p), "\nchain_order = ascending\n"));
  EXPECT_EQ(ParseProfile(ProfileText(p), "x").value(), p);
  EXPECT_TRUE(
      ParseProfile("base = hopper-bf16\nname = a\nacc_pv = mma:32,-10", "x")
          .ok());
}

TEST(Profile, WeightsInE4m3AreSaidWhereTheyAre) {
  NumericProfile p = LoadProfile("flash-bf16").value();
  EXPECT_EQ(ProfileText(p).find("p_scale"), std::string::npos);
  EXPECT_EQ(ProfileText(p).find("vscale_at"), std::string::npos);
  p = LoadProfile("fa3-fp8").value();
  EXPECT_TRUE(Contains(ProfileText(p), "\np = e4m3\n"));
  EXPECT_TRUE(Contains(ProfileText(p), "\np_scale = 0x1p+8\n"));
  EXPECT_TRUE(Contains(ProfileText(p), "\nvscale_at = out\n"));
  EXPECT_TRUE(Contains(ErrorOf("p_scale = 449"), "at most 448"));
  EXPECT_TRUE(Contains(ErrorOf("p_scale = 0"), "above 2^-60"));
  EXPECT_TRUE(Contains(ErrorOf("vscale_at = q"), "any p acc out"));
  // Weights alone are rounded to it.
  EXPECT_TRUE(Contains(ErrorOf("state = e4m3"), "state: want one of"));
}

TEST(Profile, LoadNamesTheKnownOnes) {
  EXPECT_TRUE(LoadProfile("cpu-f32").ok());
  EXPECT_TRUE(Contains(LoadProfile("cpu-f33").message(), "flash-bf16"));
}

}  // namespace
}  // namespace lockstep::verify
