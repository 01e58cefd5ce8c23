// The definition of a merge against numbers worked out elsewhere, and rule by
// rule.
#include "reference/attention_merge.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/numerics.h"
#include "tests/support/attention_merge_problem.h"

namespace lockstep::reference {
namespace {

using test::MergedTensors;
using test::MergeInstance;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// One row of one channel for each lse.
MergeInstance OneRow(std::vector<float> lse, std::vector<float> o,
                     LseBase base = LseBase::kE) {
  MergeInstance t;
  t.problem.parts = static_cast<int64_t>(lse.size());
  t.problem.value_dim = static_cast<int64_t>(o.size()) / t.problem.parts;
  t.problem.base = base;
  t.lse = std::move(lse);
  t.o = std::move(o);
  return t;
}

struct Answer {
  std::vector<float> o;
  float lse = 0;
};

Answer Merge(MergeInstance t) {
  const AttentionMergeInputs inputs = t.Inputs();
  Answer answer;
  answer.o.resize(static_cast<size_t>(t.problem.value_dim));
  const Status status =
      AttentionMergeRow(t.problem, inputs, {0, 0}, answer.o, &answer.lse);
  EXPECT_TRUE(status.ok()) << status.message();
  return answer;
}

uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }

TEST(AttentionMerge, WeighsPartsByTheirLse) {
  // e^(ln 3 - 0) : 1 = 3 : 1.
  const Answer natural = Merge(OneRow({0.0f, 0x1.193ea8p0f}, {8.0f, 4.0f}));
  EXPECT_NEAR(natural.o[0], 5.0f, 1e-6f);
  EXPECT_NEAR(natural.lse, std::log(4.0f), 1e-6f);
  // 2^(3 - 1) : 1 = 4 : 1, exactly.
  const Answer binary =
      Merge(OneRow({1.0f, 3.0f}, {10.0f, 5.0f}, LseBase::kTwo));
  EXPECT_EQ(binary.o[0], 6.0f);
  EXPECT_NEAR(binary.lse, 3.0f + std::log2(1.25f), 1e-6f);
}

TEST(AttentionMerge, EqualPartsAreAveragedWhateverTheirLevel) {
  for (const float level : {0.0f, 88.5f, -1000.0f, 3e38f}) {
    const Answer answer =
        Merge(OneRow({level, level, level, level}, {1, 2, 3, 6}));
    EXPECT_EQ(answer.o[0], 3.0f) << level;
    EXPECT_EQ(answer.lse, level + std::log(4.0f)) << level;
  }
}

// exp of 120, or of 1000, is no f32.
TEST(AttentionMerge, SubtractsTheLargestLseWhereverItStands) {
  for (const float far : {120.0f, 1000.0f}) {
    EXPECT_EQ(Merge(OneRow({0.0f, far}, {1.0f, 2.0f})).o[0], 2.0f);
    EXPECT_EQ(Merge(OneRow({0.0f, far}, {1.0f, 2.0f})).lse, far);
    EXPECT_EQ(Merge(OneRow({far, 0.0f}, {1.0f, 2.0f})).o[0], 1.0f);
    EXPECT_EQ(Merge(OneRow({-far, -far - 1}, {3.0f, 3.0f})).o[0], 3.0f);
  }
}

TEST(AttentionMerge, OnePartIsItsOwnMergeButForTheSignOfZeros) {
  const Answer answer = Merge(OneRow({-3.75f}, {1e-42f, -3e38f, -0.0f}));
  EXPECT_EQ(Bits(answer.o[0]), Bits(1e-42f));
  EXPECT_EQ(Bits(answer.o[1]), Bits(-3e38f));
  EXPECT_EQ(Bits(answer.o[2]), Bits(0.0f));
  EXPECT_EQ(answer.lse, -3.75f);
  EXPECT_EQ(Bits(Merge(OneRow({-0.0f}, {1})).lse), Bits(0.0f));
}

TEST(AttentionMerge, DoesNotReadPartsThatSawNoKey) {
  const Answer answer =
      Merge(OneRow({-kInfinity, 2.0f, -kInfinity}, {kNaN, 7.0f, kInfinity}));
  EXPECT_EQ(answer.o[0], 7.0f);
  EXPECT_EQ(answer.lse, 2.0f);
}

TEST(AttentionMerge, IsZeroWhereNoPartSawAKey) {
  const Answer answer = Merge(OneRow({-kInfinity, -kInfinity}, {kNaN, 1}));
  EXPECT_EQ(Bits(answer.o[0]), Bits(0.0f));
  EXPECT_EQ(answer.lse, -kInfinity);
}

TEST(AttentionMerge, IsNaNWithAnLseThatIsNaNOrPlusInfinity) {
  for (const float lse : {kNaN, kInfinity, -kNaN}) {
    const Answer answer = Merge(OneRow({0.0f, lse}, {1, 2}));
    EXPECT_EQ(Bits(answer.o[0]), kCanonicalNaNBits);
    EXPECT_EQ(Bits(answer.lse), kCanonicalNaNBits);
  }
}

// A weight of +0 by underflow takes part: 0 * inf = NaN.
TEST(AttentionMerge, ReadsPartsWhoseWeightUnderflows) {
  EXPECT_TRUE(std::isnan(Merge(OneRow({0, -500}, {1, kInfinity})).o[0]));
  EXPECT_EQ(Merge(OneRow({0, -500}, {1, 3e38f})).o[0], 1.0f);
  EXPECT_EQ(Merge(OneRow({3e38f, -3e38f}, {1, 5})).o[0], 1.0f);
}

TEST(AttentionMerge, RoundsToTheOutputLane) {
  MergeInstance t = OneRow({0.0f}, {1.00390625f});  // half a bf16 step above 1
  t.problem.out_lane = Lane::kBf16;
  EXPECT_EQ(Merge(t).o[0], 1.0f);
  t.o[0] = 1.01171875f;  // halfway, to the even one above
  EXPECT_EQ(Merge(t).o[0], 1.015625f);
}

// A further part that saw no key changes no bit, wherever it stands.
TEST(AttentionMerge, AnEmptyPartChangesNothing) {
  std::mt19937 rng(5);
  for (int n = 0; n < 200; ++n) {
    MergeInstance t = test::RandomMerge(rng);
    MergedTensors before(t.problem), after(t.problem);
    ASSERT_TRUE(AttentionMerge(t.problem, t.Inputs(), before.views).ok());
    const auto rows = t.problem.heads * t.problem.rows;
    const auto at = static_cast<int64_t>(
        rng() % static_cast<uint32_t>(t.problem.parts + 1));
    t.lse.insert(t.lse.begin() + at * rows, static_cast<size_t>(rows),
                 -kInfinity);
    t.o.insert(t.o.begin() + at * rows * t.problem.value_dim,
               static_cast<size_t>(rows * t.problem.value_dim), kNaN);
    ++t.problem.parts;
    ASSERT_TRUE(AttentionMerge(t.problem, t.Inputs(), after.views).ok());
    ASSERT_EQ(before.Bits(), after.Bits()) << n;
  }
}

TEST(AttentionMerge, RefusesARowThatIsNotThere) {
  MergeInstance t = OneRow({0.0f}, {1.0f});
  const AttentionMergeInputs inputs = t.Inputs();
  std::vector<float> o(1);
  float lse = 0;
  EXPECT_FALSE(AttentionMergeRow(t.problem, inputs, {0, 1}, o, &lse).ok());
  EXPECT_FALSE(AttentionMergeRow(t.problem, inputs, {0, 0}, o, nullptr).ok());
}

}  // namespace
}  // namespace lockstep::reference
