// Statistics of rows that share their roundings, and of kernels whose sums are
// cut: right ones, and bugs beside them.
#include <gtest/gtest.h>

#include <string>

#include "tests/verify/judge_line.h"
#include "tests/verify/statistics_lines.h"
#include "verify/allowed/attention_forward/errors_cut.h"
#include "verify/candidate/mutant_attention_forward.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {
namespace {

// Rows of one query, before the same keys; queries and values that differ by
// less than a rounding; equal values: correct kernels, whose rows share their
// roundings.
TEST(Statistics, RowsThatShareRoundingsAreNoAlarm) {
  for (const char* line :
       {"hq=6 hkv=2 sq=9 skv=4 d=1 strides=q:4771/795/0/1,o:4776/796/33/2 "
        "seed=290465",
        "hq=2 sq=64 skv=8 d=16 strides=q:0/0/0/1 seed=1",
        "hq=8 hkv=1 sq=16 skv=64 d=16 strides=q:256/0/16/1 seed=1",
        "b=8 sq=16 skv=64 d=16 "
        "strides=q:0/256/16/1,k:0/1024/16/1,v:0/1024/16/1 seed=1",
        "hq=4 sq=32 skv=256 d=16 fill=qk.normal:1+v.uniform:1,1.01 seed=1",
        "hq=4 sq=32 skv=256 d=16 "
        "fill=q.uniform:1,1.01+k.normal:0.1+v.normal:1 seed=1",
        "hq=2 sq=64 skv=64 d=16 strides=v:1024/1024/0/1 seed=1"}) {
    const CaseResult right =
        JudgeSpec(std::string("attention_forward lane=bf16 ") + line,
                  "variant:flash", Quick("flash-bf16"));
    EXPECT_EQ(right.verdict, Verdict::kPass) << line << right.reason;
    ASSERT_TRUE(right.statistics);
    EXPECT_EQ(right.statistics->why_not,
              "too few rows whose roundings are like chance")
        << line;
  }
}

// Queries and keys that bf16 makes alike, heads of their own values: without a
// maximum all weights are one number, whose rounding moves all rows by one
// factor.
TEST(Statistics, EqualWeightsAreNoAlarm) {
  JudgeOptions options = Quick("flash-bf16");
  options.profile->max = {MaxPolicy::Kind::kNone, 0};
  const CaseResult right = JudgeSpec(
      "attention_forward hq=64 sq=1 skv=64 d=16 lane=bf16 "
      "fill=qk.uniform:1,1.001+v.uniform:1,2 seed=1",
      "variant:flash-no-max", options);
  EXPECT_EQ(right.verdict, Verdict::kPass) << right.reason;
  ASSERT_TRUE(right.statistics);
  EXPECT_EQ(right.statistics->why_not,
            "too few rows whose roundings are like chance");
}

// Queries that hardly differ before the same keys round the same weights,
// though each head has values of its own.
TEST(Statistics, WeightsThatHardlyDifferAreNoAlarm) {
  const CaseResult right = JudgeSpec(
      "attention_forward hq=64 sq=1 skv=64 d=16 lane=bf16 "
      "strides=k:0/0/16/1 fill=q.uniform:1,1.01+k.normal:0.5+v.uniform:1,2 "
      "seed=1",
      "variant:flash", Quick("flash-bf16"));
  EXPECT_EQ(right.verdict, Verdict::kPass) << right.reason;
  ASSERT_TRUE(right.statistics);
  EXPECT_EQ(right.statistics->why_not,
            "too few rows whose roundings are like chance");
}

// 64 queries that eight heads read before the same keys are 64 draws.
TEST(Statistics, FindABiasOfBroadcastRows) {
  const std::string line =
      "attention_forward hq=8 hkv=1 sq=64 skv=256 d=32 lane=bf16 "
      "strides=q:2048/0/32/1 seed=1";
  const CaseResult right =
      JudgeSpec(line, "variant:flash", Quick("flash-bf16"));
  EXPECT_EQ(right.verdict, Verdict::kPass) << right.reason;
  ASSERT_TRUE(right.statistics);
  EXPECT_EQ(right.statistics->rows, 64);
  const CaseResult wrong = JudgeSpec(line, "mutant:attn.p_truncated,base=flash",
                                     Quick("flash-bf16"));
  EXPECT_EQ(wrong.verdict, Verdict::kFail) << wrong.reason;
  EXPECT_NE(Of(wrong, Tier::kStatistics), nullptr);
}

// A kernel before its own profile.
CaseResult JudgeVariant(const std::string& line, AttentionVariant variant,
                        const NumericProfile& claimed, FaultDial bug = {}) {
  variant.numeric.name = "claimed";
  const auto kernel = MakeEmulatedAttention("variant", "flash", variant, bug);
  JudgeOptions options = Quick("flash-bf16");
  options.profile = claimed;
  return JudgeLine(line, *kernel, options);
}

// Sums that are cut: looked at all the same, and bugs are found beside them.
TEST(Statistics, LookBesideSumsThatAreCut) {
  for (const char* name :
       {"mma", "mma-hopper", "mma-ampere", "flash-cut-sums"}) {
    const AttentionVariant variant = FindVariant(name).value();
    // The tanh of "mma" is too coarse for scores far below the cap.
    std::string line = Weak(512);
    line.erase(line.find(" cap=50"), 7);
    const CaseResult right = JudgeVariant(line, variant, variant.numeric);
    EXPECT_EQ(right.verdict, Verdict::kPass) << name << right.reason;
    ASSERT_TRUE(right.statistics);
    EXPECT_EQ(right.statistics->why_not, "") << name;
    EXPECT_EQ(right.statistics->rows, 128) << name;
    for (const char* bug : {"attn.p_truncated", "attn.out_truncated"}) {
      const CaseResult wrong = JudgeVariant(line, variant, variant.numeric,
                                            ParseMutant(bug).value().dial);
      EXPECT_EQ(wrong.verdict, Verdict::kFail) << name << bug << wrong.reason;
      EXPECT_NE(Of(wrong, Tier::kStatistics), nullptr) << name << bug;
    }
  }
}

// A sum of 100 keys that is cut lacks at most 101 u of its result: half is the
// prediction, and half is open.
TEST(Statistics, PredictHalfOfWhatACutMayTake) {
  EnvelopeModel model;
  model.pv.cuts = 1000;
  oracle::RowTruth row;
  row.visible = 100;
  row.weight_sum = 50;
  const CutRow cut(model, row, 2, 1);
  const double o = 2, squares = 0.25;
  const CutRow::Mean mean = cut.Along({1}, {}, {}, &o, &squares);
  EXPECT_EQ(mean.middle, -101 * 0x1p-24);
  EXPECT_EQ(mean.apart, (101 + 101 * 0.25) * 0x1p-24);
  const CutRow::Mean none = CutRow().Along({1}, {}, {}, &o, &squares);
  EXPECT_EQ(none.middle, 0);
  EXPECT_EQ(none.apart, 0);
}

// Values of one sign, sums over 512 keys cut to f32: a bias that an honest
// profile predicts, and that gives away a kernel which claims to round.
TEST(Statistics, TakeOffWhatSumsAreCutBy) {
  AttentionVariant variant = FindVariant("cpu").value();
  const NumericProfile rounding = variant.numeric;
  variant.numeric.acc_pv = {Accumulator::Kind::kTrunc32, 0, 0};
  const std::string line =
      "attention_forward hq=4 sq=32 skv=512 d=16 "
      "fill=qk.normal:1+v.uniform:1,2 seed=5";
  const CaseResult honest = JudgeVariant(line, variant, variant.numeric);
  EXPECT_EQ(honest.verdict, Verdict::kPass) << honest.reason;
  ASSERT_TRUE(honest.statistics);
  EXPECT_EQ(honest.statistics->why_not, "");
  const CaseResult wrong = JudgeVariant(line, variant, rounding);
  EXPECT_EQ(wrong.verdict, Verdict::kFail) << wrong.reason;
  EXPECT_NE(Of(wrong, Tier::kStatistics), nullptr) << wrong.reason;
}

}  // namespace
}  // namespace lockstep::verify
