// Tuning files: read, refused, taken by plans; and no bit changes.
#include "optimized/attention_tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "optimized/plan.h"

namespace lockstep::optimized {
namespace {

using testing::HasSubstr;

AttentionForwardProblem TunedProblem() {
  AttentionForwardProblem p;
  p.q_len = 500;
  p.kv_len = 500;
  p.head_dim = 64;
  p.value_dim = 64;
  return p;
}

std::string BestTarget() {
  for (const Target& target : Targets()) {
    if (target.supported) return target.name;
  }
  return "";
}

TEST(Tuning, SurvivesItsText) {
  Tuning tuning;
  tuning.Set({"a cpu", "AVX2", "a key", 96, 128});
  tuning.Set({"a second", "AVX2", "a key", 24, 64});
  tuning.Set({"a cpu", "AVX2", "a key", 48, 512});  // in place of the first
  ASSERT_EQ(tuning.entries.size(), 2u);
  const auto again = ParseTuning(TuningText(tuning), "f");
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_EQ(again->entries, tuning.entries);
  ASSERT_NE(again->Find("a cpu", "AVX2", "a key"), nullptr);
  EXPECT_EQ(again->Find("a cpu", "AVX2", "a key")->tile_keys, 512);
  EXPECT_EQ(again->Find("another", "AVX2", "a key"), nullptr);
}

TEST(Tuning, RefusesWhatMeansNothing) {
  const std::string head = "lockstep-tuning 1\n";
  struct Bad {
    std::string text;
    const char* says;
  };
  for (const Bad& bad :
       {Bad{"", "is empty"}, Bad{"lockstep-tuning 2\n", "f:1: no tuning file"},
        Bad{head + "c\tAVX2\tk\n", "f:2: want cpu, target, key"},
        Bad{head + "c\t\tk\ttile=8x16\n", "one of them empty"},
        Bad{head + "c\tAVX9\tk\ttile=8x16\n", "unknown target AVX9"},
        Bad{head + "c\tAVX2\tk\ttile=8x17\n", "is no tile"},
        Bad{head + "c\tAVX2\tk\ttile=0x16\n", "is no tile"},
        Bad{head + "c\tAVX2\tk\ttile=8x0\n", "is no tile"},
        Bad{head + "c\tAVX2\tk\ttile=8x16x\n", "is no tile"},
        Bad{head + "c\tAVX2\tk\t8x16\n", "is no tile"},
        Bad{head + "c\tAVX2\tk\ttile=8x16\nc\tAVX2\tk\ttile=8x32\n",
            "f:3: a second entry"}}) {
    const auto tuning = ParseTuning(bad.text, "f");
    ASSERT_FALSE(tuning.ok()) << bad.text;
    EXPECT_THAT(tuning.message(), HasSubstr(bad.says)) << bad.text;
  }
}

TEST(Tuning, IsTakenByItsOwnProblemsOnly) {
  const std::string target = BestTarget();
  if (target.empty()) GTEST_SKIP() << "no compiled target runs here";
  Caps caps;
  caps.threads = 1;
  Tuning tuning;
  tuning.Set({CpuModel(), target, TuningKey(TunedProblem(), 1), 24, 64});
  const auto taken = MakePlan(TunedProblem(), caps, tuning);
  ASSERT_TRUE(taken.ok()) << taken.message();
  EXPECT_TRUE(taken->tuned);
  EXPECT_EQ(taken->tile_rows, 24);
  EXPECT_EQ(taken->tile_keys, 64);
  EXPECT_THAT(taken->ToString(), HasSubstr("tile=24x64 "));
  EXPECT_THAT(taken->ToString(), HasSubstr(" tuned"));

  const auto untouched = [&](const AttentionForwardProblem& p, Caps how) {
    const auto plan = MakePlan(p, how, tuning);
    return plan.ok() && !plan->tuned;
  };
  AttentionForwardProblem other = TunedProblem();
  other.head_dim = 32;
  EXPECT_TRUE(untouched(other, caps));
  other = TunedProblem();
  other.softcap = 30.0;
  EXPECT_TRUE(untouched(other, caps));
  other = TunedProblem();
  other.masks[0].kind = MaskExpr::Kind::kCausal;
  EXPECT_TRUE(untouched(other, caps));
  Caps wish = caps;
  wish.threads = 2;
  EXPECT_TRUE(untouched(TunedProblem(), wish));
  wish = caps;
  wish.tile_keys = 128;
  EXPECT_TRUE(untouched(TunedProblem(), wish));
  // Lengths of the same power of two are one problem.
  other = TunedProblem();
  other.q_len = 300;
  EXPECT_FALSE(untouched(other, caps));
  other.q_len = 200;
  EXPECT_TRUE(untouched(other, caps));
}

TEST(Tuning, OfAnotherMachineIsNotTaken) {
  const std::string target = BestTarget();
  if (target.empty()) GTEST_SKIP() << "no compiled target runs here";
  Caps caps;
  caps.threads = 1;
  Tuning tuning;
  tuning.Set({"another cpu", target, TuningKey(TunedProblem(), 1), 24, 64});
  const auto plan = MakePlan(TunedProblem(), caps, tuning);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->tuned);
}

}  // namespace
}  // namespace lockstep::optimized
