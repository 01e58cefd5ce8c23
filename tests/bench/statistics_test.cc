// What samples allow to be said, on samples made up from a seed: no clock.
#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <vector>

namespace lockstep::bench {
namespace {

double Uniform(Dice* dice) {
  return static_cast<double>(dice->Next() >> 11) * 0x1p-53;
}

TEST(Dice, AnOrderHasEveryNumberOnce) {
  Dice dice(7);
  std::set<std::vector<size_t>> orders;
  for (int n = 0; n < 200; ++n) {
    std::vector<size_t> order = dice.Order(3);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2}));
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(Median, OfOddAndEvenNumbers) {
  EXPECT_EQ(MedianOf({3, 1, 2}), 2);
  EXPECT_EQ(MedianOf({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(MedianOf({5}), 5);
}

// By the binomial distribution of 10 coins: 0 or 10 heads have 2/1024, 1 or 9
// together with them 22/1024, 2 or 8 112/1024.
TEST(MedianInterval, DropsAsManyAsTheCoinsAllow) {
  const std::vector<double> values = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
  const Interval wide = MedianInterval(values, 1 - 2.0 / 1024);
  EXPECT_EQ(wide.low, 1);
  EXPECT_EQ(wide.high, 10);
  const Interval usual = MedianInterval(values, 0.95);
  EXPECT_EQ(usual.low, 2);
  EXPECT_EQ(usual.high, 9);
  const Interval narrow = MedianInterval(values, 0.85);
  EXPECT_EQ(narrow.low, 3);
  EXPECT_EQ(narrow.high, 8);
  const Interval few = MedianInterval({2, 1, 3}, 0.95);
  EXPECT_EQ(few.low, 1);
  EXPECT_EQ(few.high, 3);
}

TEST(MedianInterval, HoldsTheMedianAsOftenAsItSays) {
  Dice dice(11);
  int held = 0;
  constexpr int kRuns = 2000;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> values;
    // A long tail to one side, median 1.
    for (int n = 0; n < 21; ++n) {
      values.push_back(std::pow(0.5 / Uniform(&dice), 2));
    }
    const Interval interval = MedianInterval(values, 0.95);
    held += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(held, kRuns * 0.95);
  EXPECT_LE(held, kRuns * 0.99);
}

// All 2^n signs have the same chance: counted by hand.
TEST(SignedRank, IsExact) {
  EXPECT_EQ(SignedRank({1, 2, 3, 4, 5}), 2.0 / 32);
  EXPECT_EQ(SignedRank({-1, -2, -3, -4, -5}), 2.0 / 32);
  // Sum of ranks with minus: 1, reached by {} and {1}.
  EXPECT_EQ(SignedRank({-1, 2, 3, 4, 5}), 4.0 / 32);
  // 3: {}, {1}, {2}, {3}, {1, 2}.
  EXPECT_EQ(SignedRank({-1, -2, 3, 4, 5}), 10.0 / 32);
  EXPECT_EQ(SignedRank({}), 1);
  EXPECT_EQ(SignedRank({0, 0}), 1);
  // Zeros say nothing; ties share their ranks: 1.5, 1.5, 3.
  EXPECT_EQ(SignedRank({0, -1, 1, 2}), SignedRank({-1, 1, 2}));
  // Minus has 1.5: {}, {1.5}, {1.5}.
  EXPECT_EQ(SignedRank({-1, 1, 2}), 6.0 / 8);
  EXPECT_EQ(SignedRank({1, -1}), 1);
}

TEST(SignedRank, TellsByChanceAsOftenAsItSays) {
  Dice dice(3);
  int below = 0;
  constexpr int kRuns = 4000;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> differences;
    for (int n = 0; n < 40; ++n) {
      const double x = std::pow(Uniform(&dice), 4);
      differences.push_back(dice.Below(2) == 0 ? x : -x);
    }
    below += SignedRank(differences) < 0.05 ? 1 : 0;
  }
  EXPECT_GE(below, kRuns * 0.035);
  EXPECT_LE(below, kRuns * 0.06);
}

TEST(SignedRank, OfManyStaysANumber) {
  std::vector<double> differences;
  for (size_t n = 1; n <= kMostDifferences; ++n) {
    differences.push_back(static_cast<double>(n));
  }
  const double chance = SignedRank(differences);
  EXPECT_GT(chance, 0);
  EXPECT_LT(chance, 1e-60);
}

}  // namespace
}  // namespace lockstep::bench
