// Tile classes and element bits against the brute-force meaning of the mask.
#include "optimized/mask_plan.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/mask.h"
#include "tests/support/attention_problem.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::Instance;

struct Truth {
  int64_t visible = 0;
  int64_t pairs = 0;
};

Truth CountVisible(const Instance& instance, const AttentionForwardInputs& in,
                   int64_t head, Range queries, Range keys) {
  Truth truth;
  for (int64_t i = queries.begin; i < queries.end; ++i) {
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      ++truth.pairs;
      truth.visible +=
          reference::IsVisible(instance.problem, in, 0, head, i, j);
    }
  }
  return truth;
}

// Shape and payload by chance; a dense term now and then.
Instance RandomMaskInstance(std::mt19937& rng) {
  Instance instance = test::RandomInstance(rng);
  AttentionForwardProblem& p = instance.problem;
  p.head_dim = p.value_dim = 1;
  if (Draw(rng, 0, 3) == 0) {
    instance.dense.resize(static_cast<size_t>(p.q_len * p.kv_len));
    const int64_t density = Draw(rng, 0, 4);
    for (uint8_t& bit : instance.dense) bit = Draw(rng, 0, 4) <= density;
    MaskExpr dense;
    dense.kind = MaskExpr::Kind::kDense;
    MaskExpr both;
    both.kind = Draw(rng, 0, 1) ? MaskExpr::Kind::kAnd : MaskExpr::Kind::kOr;
    both.children = {p.masks[0], dense};
    p.masks = {both};
  }
  return instance;
}

TEST(MaskPlan, ClassesAreProvenAndBitsAreExact) {
  int64_t empty = 0, full = 0, partial = 0, missed = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 rng(seed);
    Instance instance = RandomMaskInstance(rng);
    const AttentionForwardProblem& p = instance.problem;
    const AttentionForwardInputs in = instance.Inputs();
    const int64_t tile_keys = Draw(rng, 1, 90);
    const MaskPlan plan(p, in, 0, tile_keys);
    const int64_t head = Draw(rng, 0, p.q_heads - 1);
    const int64_t tile = Draw(rng, 0, (p.kv_len - 1) / tile_keys);
    const Range keys{tile * tile_keys,
                     std::min((tile + 1) * tile_keys, p.kv_len)};
    const int64_t begin = Draw(rng, 0, p.q_len - 1);
    const Range queries{begin, Draw(rng, begin + 1, p.q_len)};
    const Truth truth = CountVisible(instance, in, head, queries, keys);
    const TileClass c = plan.Classify(head, queries, tile);
    if (c == TileClass::kEmpty) {
      ASSERT_EQ(truth.visible, 0) << "seed " << seed;
    }
    if (c == TileClass::kFull) {
      ASSERT_EQ(truth.visible, truth.pairs) << "seed " << seed;
    }
    empty += c == TileClass::kEmpty;
    full += c == TileClass::kFull;
    partial += c == TileClass::kPartial;
    missed += c == TileClass::kPartial &&
              (truth.visible == 0 || truth.visible == truth.pairs);

    std::vector<uint64_t> words(2);
    const bool any = plan.RowBits(head, begin, keys, words);
    bool expected_any = false;
    for (int64_t j = keys.begin; j < keys.begin + 128; ++j) {
      const int64_t k = j - keys.begin;
      const bool bit = (words[static_cast<size_t>(k / 64)] >> (k % 64)) & 1;
      const bool expected =
          j < keys.end && reference::IsVisible(p, in, 0, head, begin, j);
      ASSERT_EQ(bit, expected) << "seed " << seed << " key " << j;
      expected_any |= expected;
    }
    ASSERT_EQ(any, expected_any);
  }
  EXPECT_GT(empty, 300);
  EXPECT_GT(full, 300);
  EXPECT_GT(partial, 300);
  // Partial is allowed where the mask is in truth uniform, but rarely.
  EXPECT_LT(missed, partial / 2);
}

}  // namespace
}  // namespace lockstep::optimized
