// The guards of the bf16 dot instruction in attention_forward, tripped on
// purpose like those in attention_guard_test.cc, tile by tile. What the counts
// say holds on every target; the bits can differ where there is the
// instruction. And the guard of the online path for f16.
#include <cmath>
#include <cstdint>
#include <random>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "tests/support/attention_problem.h"

namespace lockstep::optimized {
namespace {

using test::Instance;

// Four tiles of 32 keys, q, k and v of bf16 with one channel. Row i sees key
// `own` of the first tile and, in every other row, all keys behind it.
Instance SparseRows(double cap) {
  Instance instance;
  AttentionForwardProblem& p = instance.problem;
  p.q_len = p.kv_len = 128;
  p.head_dim = p.value_dim = 1;
  p.lane = p.p_lane = Lane::kBf16;
  p.softcap = cap;
  p.scale = 1.0;
  p.masks[0].kind = MaskExpr::Kind::kDense;
  std::mt19937 rng(3);
  instance.Fill(rng);
  instance.dense.assign(128 * 128, 0);
  for (size_t i = 0; i < 128; ++i) {
    instance.dense[i * 128] = 1;
    for (size_t j = 32; i % 2 == 1 && j < 128; ++j) {
      instance.dense[i * 128 + j] = 1;
    }
  }
  return instance;
}

AttentionForwardExecution RunPairs(Instance& instance, int64_t tile_rows = 64) {
  AttentionForwardExecution execution;
  Caps caps;
  caps.threads = 1;
  caps.tile_rows = tile_rows;
  caps.tile_keys = 32;
  caps.native_dot = true;
  EXPECT_EQ(instance.RunReference(), instance.RunOptimized(caps, &execution));
  return execution;
}

TEST(DotGuard, PairsTakeTheDotInstruction) {
  Instance instance = SparseRows(20.0);
  const AttentionForwardExecution ran = RunPairs(instance);
  EXPECT_EQ(ran.tiles_native_dot, 8);
  EXPECT_EQ(ran.tiles_native_values, 8);
}

// The instruction flushes the sum that it adds to as well. Key 0 leaves sums
// that are subnormal; even rows add weights of +0 to them, odd rows true ones.
// So no later tile may take the instruction for its values, though their own
// are ordinary. Scores may, and so may the next rows if they do not see key 0.
TEST(DotGuard, SumsOfEarlierTilesAreOperandsToo) {
  for (const float tiny : {0x1p-131f, 0x1p-120f, 0x1p-100f}) {
    Instance instance = SparseRows(20.0);
    for (float& x : instance.q) x = 1.0f;
    instance.k[0] = -30.0f;  // u near -26, so that 2^-100 gets tiny, too
    instance.v[0] = tiny;
    const AttentionForwardExecution ran = RunPairs(instance);
    EXPECT_EQ(ran.tiles_native_dot, 8) << tiny;
    EXPECT_EQ(ran.tiles_native_values, 0) << tiny;
  }
}

TEST(DotGuard, SumsStartAnewWithEveryRowTile) {
  Instance instance = SparseRows(20.0);
  instance.v[0] = 0x1p-131f;
  // Of four row tiles the first and the last see key 0, so that one of these is
  // walked before the two others.
  for (size_t i = 32; i < 96; ++i) instance.dense[i * 128] = 0;
  EXPECT_EQ(RunPairs(instance, 32).tiles_native_values, 2 * 3);
}

// Without a fixed m a row's guard looks at all of its values at the end. Until
// then only a tile that has subnormal values goes without the instruction.
TEST(DotGuard, OnlineSumsAreJudgedAtTheEnd) {
  Instance instance = SparseRows(80.0);
  instance.v[0] = 0x1p-131f;
  const AttentionForwardExecution near = RunPairs(instance);
  EXPECT_EQ(near.tiles_native_values, 6);
  EXPECT_EQ(near.rows_redone, 0);
  // Weights 2^-60 apart: every bit of their products is there in f32, but not
  // of the normal numbers that the instruction keeps. Odd rows see both keys.
  for (float& x : instance.q) x = 1.0f;
  instance.k[0] = -21.0f;
  instance.k[40] = 21.0f;
  EXPECT_EQ(RunPairs(instance).rows_redone, 64);
}

TEST(DotGuard, TinyScoresDoWithoutTheDotInstruction) {
  Instance instance = SparseRows(20.0);
  instance.k[40] = 0x1p-120f;  // of the second tile
  EXPECT_EQ(RunPairs(instance).tiles_native_dot, 6);
  instance.k[40] = 0x1p-130f;
  EXPECT_EQ(RunPairs(instance).tiles_native_dot, 6);
}

// Two tiles of 32 keys: the first lies `lowest` below the second, in units of
// log2, and alone has values, f16's smallest.
TEST(OnlineGuard, HalvesEndAtTheirOwnLastBit) {
  for (const float lowest : {-177.0f, -178.0f, -179.0f, -188.0f}) {
    Instance instance;
    AttentionForwardProblem& p = instance.problem;
    p.q_len = p.kv_len = 64;
    p.lane = p.p_lane = Lane::kF16;
    p.scale = std::log(2.0);
    std::mt19937 rng(3);
    instance.Fill(rng);
    for (size_t j = 0; j < 64; ++j) {
      instance.q[j] = 1.0f;
      instance.k[j] = j < 32 ? lowest + 0.25f : 0.0f;
      instance.v[j] = j < 32 ? 0x1p-24f : 0.0f;
    }
    // N9: D + 64 - 11 - 24 >= -149.
    const bool holds = lowest >= -178.0f;
    AttentionForwardExecution ran;
    Caps caps;
    caps.tile_keys = 32;
    EXPECT_EQ(instance.RunReference(), instance.RunOptimized(caps, &ran));
    EXPECT_EQ(ran.rows_online, holds ? 64 : 0) << lowest;
    EXPECT_EQ(ran.rows_redone, holds ? 0 : 64) << lowest;
  }
}

}  // namespace
}  // namespace lockstep::optimized
