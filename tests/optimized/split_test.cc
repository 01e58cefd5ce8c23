// split=N (N22): the same bits as the reference for every target, tile size and
// thread count, and what its fast paths must not change.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "optimized/row_keys.h"
#include "tests/support/attention_problem.h"
#include "tests/support/order_problem.h"
#include "tests/support/runnable_targets.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::Instance;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Split, EveryTargetHasTheReferencesBits) {
  AttentionForwardExecution total;
  for (uint32_t seed = 0; seed < test::Volume(300); ++seed) {
    std::mt19937 rng(seed);
    Instance t = test::RandomParts(rng);
    ASSERT_GT(t.problem.parts(), 1);
    const std::vector<uint32_t> expected = t.RunReference();
    for (const std::string& target : test::RunnableTargets()) {
      Caps caps;
      caps.target = target;
      caps.threads = static_cast<int>(Draw(rng, 1, 2));
      if (Draw(rng, 0, 1)) caps.tile_rows = Draw(rng, 1, 80);
      if (Draw(rng, 0, 1)) caps.tile_keys = 16 * Draw(rng, 1, 8);
      if (Draw(rng, 0, 3) == 0) caps.native_dot = Draw(rng, 0, 1) == 1;
      if (Draw(rng, 0, 1)) caps.flush = Draw(rng, 0, 1) == 1;
      AttentionForwardExecution ran;
      ASSERT_EQ(expected, t.RunOptimized(caps, &ran))
          << "seed " << seed << ", split=" << t.problem.split << " "
          << MakePlan(t.problem, caps).value().ToString();
      const AttentionForwardProblem& p = t.problem;
      ASSERT_EQ(
          ran.rows_fixed + ran.rows_online + ran.rows_redone + ran.rows_empty,
          p.batch * p.q_heads * p.q_len);
      total.rows_fixed += ran.rows_fixed;
      total.rows_online += ran.rows_online;
      total.rows_redone += ran.rows_redone;
      total.rows_empty += ran.rows_empty;
      total.tiles_in_place += ran.tiles_in_place;
    }
  }
  // Every path ran, or the test above proves less than it says.
  EXPECT_GT(total.rows_fixed, test::Volume(1000));
  EXPECT_GT(total.rows_online, test::Volume(1000));
  EXPECT_GT(total.rows_redone, test::Volume(1000));
  EXPECT_GT(total.rows_empty, test::Volume(1000));
  EXPECT_GT(total.tiles_in_place, test::Volume(100));
}

TEST(Split, BitsDoNotDependOnThePlan) {
  std::mt19937 rng(7);
  for (const ProductOrder order : {ProductOrder::kChain, ProductOrder::kAmx}) {
    Instance t = test::ManyTiles(order, rng);
    t.problem.split = 5;  // parts of 48 keys
    test::ExpectBitsOfEveryPlan(t);
  }
}

// Of one part there is nothing to put together, whatever N is; of more, the
// bits are others.
TEST(Split, OnePartIsNoSplit) {
  std::mt19937 rng(3);
  Instance t = test::ManyTiles(ProductOrder::kChain, rng);
  t.problem.lane = t.problem.p_lane = Lane::kF32;
  const std::vector<uint32_t> whole = t.RunOptimized();
  t.problem.split = 2;
  EXPECT_NE(t.RunOptimized(), whole);
  t.problem.kv_len = 16;
  const std::vector<uint32_t> parts = t.RunOptimized();
  t.problem.split = 1;
  EXPECT_EQ(t.RunOptimized(), parts);
}

// `u` and `v` by key, four rows; sends `parts` parts through every target and
// returns how many rows were redone, which is the same on all.
int64_t Redone(const std::vector<float>& u, const std::vector<float>& v,
               int64_t parts, float sink = kNaN) {
  Instance t = test::RowsOfScores(ProductOrder::kChain, u, v);
  t.problem.lane = t.problem.p_lane = Lane::kF32;
  t.problem.split = parts;
  t.problem.sink = sink == sink;
  t.sink = {sink};
  int64_t redone = -1;
  for (const std::string& target : test::RunnableTargets()) {
    for (const int64_t tile_keys : {16, 32, 64}) {
      AttentionForwardExecution ran;
      Caps caps;
      caps.target = target;
      caps.tile_keys = tile_keys;
      caps.threads = tile_keys == 32 ? 2 : 1;
      EXPECT_EQ(t.RunReference(), t.RunOptimized(caps, &ran)) << target;
      EXPECT_TRUE(redone < 0 || redone == ran.rows_redone) << target;
      redone = ran.rows_redone;
    }
  }
  return redone;
}

// N9's guard is a part's own: scores far apart in one of them send the row to
// two passes, scores that are far apart only between them do not.
TEST(Split, TheOnlineGuardIsAPartsOwn) {
  std::vector<float> u(64, 0.0f), v(64, 1.5f);
  for (size_t j = 32; j < 64; ++j) u[j] = -400.0f;
  EXPECT_EQ(Redone(u, v, 2), 0);
  EXPECT_EQ(Redone(u, v, 1), 4);
  u[40] = 0.0f;
  EXPECT_EQ(Redone(u, v, 2), 4);
}

// NaN and infinite scores, values and sinks in one of the parts, or all of it
// out of reach: the row is judged as a whole (N12, N13).
TEST(Split, SpecialsOfOnePart) {
  const std::vector<float> plain_u(64, 0.0f), plain_v(64, 1.5f);
  for (const float special : {kNaN, kInfinity, -kInfinity}) {
    for (const size_t first : {0u, 32u}) {
      std::vector<float> u = plain_u, v = plain_v;
      v[first + 3] = special;
      EXPECT_EQ(Redone(u, v, 2), 4);
      u[first + 3] = special;
      EXPECT_EQ(Redone(u, plain_v, 2), 4);
      for (size_t j = first; j < first + 32; ++j) u[j] = special;
      Redone(u, v, 2);
      Redone(u, plain_v, 4);
      Redone(u, plain_v, 4, 2.0f);
    }
    Redone(std::vector<float>(64, special), plain_v, 2);
    Redone(std::vector<float>(64, special), plain_v, 2, 1.0f);
    Redone(plain_u, plain_v, 3, special);
  }
  // A sink above all scores, and one far above them.
  EXPECT_EQ(Redone(plain_u, plain_v, 4, 60.0f), 0);
  Redone(plain_u, plain_v, 4, 300.0f);
}

// A part's sums are scaled by one rounding. The first part's values cancel, and
// are so large that the row is redone with small weights: o is what is left of
// the second part, at the bottom of the range.
TEST(Split, APartIsScaledByOneRounding) {
  int64_t seen = 0;
  for (int down = 110; down < 160; ++down) {
    std::vector<float> u(32, -static_cast<float>(down)), v(32, 0.0f);
    for (size_t j = 0; j < 16; ++j) u[j] = 0.0f;
    v[0] = std::numeric_limits<float>::max();
    v[1] = -v[0];
    // With its weight this is 2^20 + 1 + 1/8 units of 2^-23. Rounded to those
    // after 2^-126, it would be half way at 2^-127, and fall.
    v[16] = 0x1.000012p+29f;
    EXPECT_EQ(Redone(u, v, 2), 4) << down;
    Instance t = test::RowsOfScores(ProductOrder::kChain, u, v);
    t.problem.lane = t.problem.p_lane = Lane::kF32;
    t.problem.split = 2;
    seen += t.RunReference()[0] != 0;
  }
  EXPECT_GT(seen, 30);
  EXPECT_LT(seen, 45);
}

// A subnormal value is a zero of N20. The form without flushing leaves rows
// that meet one to the letter, whichever part it is in.
TEST(Split, GuardedBlocksOfOnePart) {
  for (const size_t first : {0u, 32u}) {
    const std::vector<float> u(64, 0.0f);
    std::vector<float> v(64, 0.0f);
    std::fill_n(v.begin() + static_cast<int64_t>(first), 32, 0x1p-127f);
    Instance t = test::RowsOfScores(ProductOrder::kAmx, u, v);
    t.problem.split = 2;
    EXPECT_EQ(t.RunReference()[0], 0u);
    for (const std::string& target : test::RunnableTargets()) {
      Caps caps;
      caps.target = target;
      caps.native_dot = caps.flush = false;
      AttentionForwardExecution ran;
      EXPECT_EQ(t.RunReference(), t.RunOptimized(caps, &ran)) << target;
      EXPECT_EQ(ran.rows_redone, 4) << target;
    }
  }
}

TEST(Split, KeepBitsClipsToARange) {
  std::vector<uint64_t> words(3, ~uint64_t{0});
  EXPECT_EQ(KeepBits({70, 130}, words), (Range{70, 130}));
  EXPECT_EQ(words, (std::vector<uint64_t>{0, ~uint64_t{0} << 6, 3}));
  EXPECT_EQ(KeepBits({0, 192}, words), (Range{70, 130}));
  words[1] = 0;
  EXPECT_EQ(KeepBits({-64, 500}, words), (Range{128, 130}));
  EXPECT_TRUE(KeepBits({0, 128}, words).empty());
  EXPECT_EQ(words[2], 0u);
}

}  // namespace
}  // namespace lockstep::optimized
