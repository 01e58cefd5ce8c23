// When a time that a kernel tells of itself counts.
#include "bench/told.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bench/duel.h"

namespace lockstep::bench {
namespace {

using verify::Teller;

TEST(MayBe, IsHalfOfTheCallToALittleMore) {
  EXPECT_TRUE(MayBe(1, 2));
  EXPECT_TRUE(MayBe(1.05, 1));
  EXPECT_FALSE(MayBe(0.99, 2));
  EXPECT_FALSE(MayBe(1.06, 1));
  EXPECT_FALSE(MayBe(0, 0.1));
  EXPECT_FALSE(MayBe(NAN, 1));
}

TEST(IsUsed, AsksTheMedianOfAKernelsWordAlone) {
  EXPECT_TRUE(IsUsed(Teller::kKernel, {0.1, 0.9, 0.9}));
  EXPECT_FALSE(IsUsed(Teller::kKernel, {0.1, 0.1, 0.9}));
  EXPECT_TRUE(IsUsed(Teller::kDevice, {0.1}));
  EXPECT_TRUE(IsUsed(Teller::kHost, {0.1}));
  EXPECT_TRUE(IsUsed(Teller::kNone, {1}));
}

TEST(WhyNoTime, NamesNoTimeAndWhatNoMachineDoes) {
  EXPECT_EQ(WhyNoTime(1, 2, 1e9, 1e9), "");
  EXPECT_EQ(WhyNoTime(1e-9, 2, 1e9, 0), "");
  for (const double none : {0.0, -1.0, static_cast<double>(NAN)}) {
    EXPECT_NE(WhyNoTime(none, 2, 0, 0).find("no time in a call of 2 s"),
              std::string::npos);
  }
  EXPECT_NE(WhyNoTime(0.5, 2, 1e9, 1e9).find("2 GFLOP/s"), std::string::npos);
}

// Two turns: what each tells, in a call of one second.
std::vector<Bout> Told(Teller baseline, Teller candidate, double told) {
  const auto turn = [&](Teller teller) {
    return Turn{.seconds = told,
                .processor = told,
                .alone = true,
                .asked = 1,
                .teller = teller,
                .apart = true};
  };
  return {{Round{{turn(baseline), turn(candidate)}}}};
}

TEST(UsesOwnClocks, NeedsAClockThatCounts) {
  EXPECT_TRUE(UsesOwnClocks(Told(Teller::kHost, Teller::kHost, 0.1), 1));
  EXPECT_TRUE(UsesOwnClocks(Told(Teller::kHost, Teller::kKernel, 0.6), 1));
  EXPECT_FALSE(UsesOwnClocks(Told(Teller::kHost, Teller::kKernel, 0.1), 1));
  // It was only waited for, and the wire is in that.
  EXPECT_FALSE(UsesOwnClocks(Told(Teller::kHost, Teller::kNone, 1), 1));
}

TEST(TakeJudgesClock, IsOneClockForBoth) {
  std::vector<Bout> bouts = Told(Teller::kHost, Teller::kKernel, 0.1);
  TakeJudgesClock(&bouts);
  for (const Turn& turn : bouts[0][0].turns) {
    EXPECT_EQ(turn.seconds, 1);
    EXPECT_FALSE(turn.alone);
  }
}

TEST(ClaimOfTold, IsNoneAgainstTheJudgesClock) {
  EXPECT_EQ(ClaimOfTold(Claim::kFaster, Claim::kSlower), Claim::kUndecided);
  EXPECT_EQ(ClaimOfTold(Claim::kSlower, Claim::kFaster), Claim::kSlower);
  EXPECT_EQ(ClaimOfTold(Claim::kFaster, Claim::kUndecided), Claim::kFaster);
  EXPECT_EQ(ClaimOfTold(Claim::kTie, Claim::kSlower), Claim::kTie);
}

}  // namespace
}  // namespace lockstep::bench
