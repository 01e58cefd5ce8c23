// Tile classes, blocks and transposes against brute force over every pair.
#include "optimized/tile_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reference/mask.h"
#include "tests/support/attention_problem.h"
#include "tests/support/mask_problem.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::MaskProblem;

// Elements of a tile that a kernel may see, by the meaning of the mask.
struct Truth {
  int64_t visible = 0;
  int64_t in_range = 0;
};

// One batch row and head of a problem, tile by tile.
struct BruteForce {
  BruteForce(const AttentionForwardProblem& p, const AttentionForwardInputs& in,
             int64_t b, int64_t h)
      : kv_len(p.kv_len), q_len(p.q_len) {
    for (int64_t i = 0; i < p.q_len; ++i) {
      for (int64_t j = 0; j < p.kv_len; ++j) {
        bits.push_back(reference::IsVisible(p, in, b, h, i, j));
      }
    }
  }
  bool At(int64_t i, int64_t j) const {
    return i < q_len && j < kv_len && bits[static_cast<size_t>(i * kv_len + j)];
  }
  Truth Count(const TileGrid& g, int64_t row, int64_t col) const {
    Truth truth;
    for (int64_t i = row * g.tile_q; i < (row + 1) * g.tile_q; ++i) {
      for (int64_t j = col * g.tile_k; j < (col + 1) * g.tile_k; ++j) {
        truth.in_range += i < q_len && j < kv_len;
        truth.visible += At(i, j);
      }
    }
    return truth;
  }
  int64_t kv_len, q_len;
  std::vector<bool> bits;
};

TileClass TrueClass(const Truth& truth, const TileGrid& g, Boundary boundary) {
  const int64_t whole =
      boundary == Boundary::kPadded ? g.tile_q * g.tile_k : truth.in_range;
  if (truth.visible == 0) return TileClass::kEmpty;
  return truth.visible == whole ? TileClass::kFull : TileClass::kPartial;
}

// The class that a list gives a tile, and its block.
std::pair<TileClass, int32_t> Look(const TileList& list, int64_t o, int64_t i) {
  const auto begin = list.inner.begin() + list.start[static_cast<size_t>(o)];
  const auto end = list.inner.begin() + list.start[static_cast<size_t>(o) + 1];
  const auto found = std::lower_bound(begin, end, static_cast<int32_t>(i));
  if (found == end || *found != i) return {TileClass::kEmpty, -1};
  const auto at = static_cast<size_t>(found - list.inner.begin());
  return {list.classes[at], list.block[at]};
}

void ExpectBlock(const BlockPool& pool, int32_t block, const BruteForce& truth,
                 const TileGrid& g, int64_t row, int64_t col,
                 const std::string& where) {
  for (int64_t r = 0; r < g.tile_q; ++r) {
    for (int64_t c = 0; c < g.tile_k; ++c) {
      ASSERT_EQ(pool.At(block, r, c),
                truth.At(row * g.tile_q + r, col * g.tile_k + c))
          << where << " element " << r << "," << c;
    }
  }
}

// Every tile of one head of a plan. Returns how many are partial.
int64_t ExpectHead(const TilePlan& plan, int64_t head, const BruteForce& truth,
                   const std::string& where) {
  const TileGrid& g = plan.grid;
  const TilePattern& pattern = plan.pattern(head);
  int64_t partial = 0;
  for (int64_t row = 0; row < g.rows(); ++row) {
    for (int64_t col = 0; col < g.cols(); ++col) {
      const std::string at =
          where + " tile " + std::to_string(row) + "," + std::to_string(col);
      const TileClass want =
          TrueClass(truth.Count(g, row, col), g, plan.options.boundary);
      const auto [found, block] = Look(pattern.by_query, row, col);
      EXPECT_EQ(found, want) << at;
      EXPECT_EQ(Look(pattern.by_key, col, row), std::pair(found, block)) << at;
      EXPECT_EQ(block >= 0, found == TileClass::kPartial) << at;
      partial += want == TileClass::kPartial;
      if (block >= 0) ExpectBlock(plan.pool, block, truth, g, row, col, at);
    }
  }
  return partial;
}

// Equal contents share an id, and every id is in use.
void ExpectPoolIsMinimal(const TilePlan& plan, const std::string& where) {
  const BlockPool& pool = plan.pool;
  const int64_t size = pool.words_per_block();
  for (int64_t a = 0; a < pool.size(); ++a) {
    for (int64_t b = a + 1; b < pool.size(); ++b) {
      EXPECT_FALSE(std::equal(pool.words.begin() + a * size,
                              pool.words.begin() + (a + 1) * size,
                              pool.words.begin() + b * size))
          << where << " blocks " << a << " and " << b;
    }
  }
}

TEST(TilePlan, EqualsBruteForceOnRandomMasksAndShapes) {
  constexpr uint32_t kProblems = test::Volume(100000);
  int64_t partial = 0;
  for (uint32_t seed = 0; seed < kProblems && !HasFailure(); ++seed) {
    std::mt19937 rng(seed);
    const MaskProblem m = test::RandomMaskProblem(rng);
    const AttentionForwardInputs in = m.Inputs();
    TileOptions options;
    options.tile_q = Draw(rng, 1, 9);
    options.tile_k = Draw(rng, 1, 9);
    options.boundary = static_cast<Boundary>(Draw(rng, 0, 1));
    const int64_t batch = Draw(rng, 0, m.problem.batch - 1);
    const std::string where = "seed " + std::to_string(seed);
    const Result<TilePlan> plan = PlanTiles(m.problem, in, batch, options);
    ASSERT_TRUE(plan.ok()) << plan.message();
    const int64_t head = Draw(rng, 0, m.problem.q_heads - 1);
    partial += ExpectHead(plan.value(), head,
                          BruteForce(m.problem, in, batch, head), where);
    ExpectPoolIsMinimal(plan.value(), where);
    EXPECT_EQ(ClassifyTiles(m.problem, in, batch, head, options).classes,
              plan->pattern(head).by_query.classes);
  }
  EXPECT_GT(partial, kProblems);  // the masks are not all trivial
}

TEST(TilePlan, LongRowsEqualBruteForce) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 rng(seed);
    const MaskProblem m = test::RandomMaskProblem(rng, {300, 1, 2});
    TileOptions options;
    options.tile_q = Draw(rng, 1, 130);
    options.tile_k = Draw(rng, 1, 130);
    const AttentionForwardInputs in = m.Inputs();
    const Result<TilePlan> plan = PlanTiles(m.problem, in, 0, options);
    ASSERT_TRUE(plan.ok());
    for (int64_t head = 0; head < m.problem.q_heads; ++head) {
      ExpectHead(plan.value(), head, BruteForce(m.problem, in, 0, head),
                 "seed " + std::to_string(seed));
    }
  }
}

TEST(TilePlan, WithoutSegmentsPlansTheStaticMask) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 rng(seed);
    MaskProblem m = test::RandomMaskProblem(rng);
    TileOptions options;
    options.tile_q = options.tile_k = 4;
    options.segments = false;
    const Result<TilePlan> plan = PlanTiles(m.problem, m.Inputs(), 0, options);
    if (!plan.ok()) {
      EXPECT_NE(plan.message().find("sink"), std::string::npos);
      continue;
    }
    m.problem.segments = false;
    ExpectHead(plan.value(), 0, BruteForce(m.problem, m.Inputs(), 0, 0),
               "seed " + std::to_string(seed));
  }
}

TEST(TilePlan, HeadsShareAPatternExactlyIfTheirTilesAreEqual) {
  MaskProblem m;
  m.problem.q_heads = 4;
  m.problem.q_len = m.problem.kv_len = 8;
  MaskExpr causal;
  causal.kind = MaskExpr::Kind::kCausal;
  MaskExpr dense;
  dense.kind = MaskExpr::Kind::kDense;
  m.problem.masks = {causal, MaskExpr{}, causal, dense};
  m.dense.resize(1);
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t j = 0; j < 8; ++j) m.dense[0].bits.push_back(j <= i);
  }
  TileOptions options;
  options.tile_q = options.tile_k = 2;
  const Result<TilePlan> same = PlanTiles(m.problem, m.Inputs(), 0, options);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->head_pattern, (std::vector<int32_t>{0, 1, 0, 0}));
  m.dense[0].bits[1] = 1;  // (0, 1): one element of a partial tile
  const Result<TilePlan> other = PlanTiles(m.problem, m.Inputs(), 0, options);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->head_pattern, (std::vector<int32_t>{0, 1, 0, 2}));
  // The same states do not make the same masks.
  options.blocks = false;
  const Result<TilePlan> states = PlanTiles(m.problem, m.Inputs(), 0, options);
  ASSERT_TRUE(states.ok());
  EXPECT_EQ(states->head_pattern, (std::vector<int32_t>{0, 1, 0, 2}));
}

TEST(TilePlan, RefusesTilesThatHaveNoMeaning) {
  MaskProblem m;
  TileOptions options;
  options.tile_q = 0;
  EXPECT_FALSE(PlanTiles(m.problem, m.Inputs(), 0, options).ok());
  options.tile_q = kMaxLength;
  EXPECT_FALSE(PlanTiles(m.problem, m.Inputs(), 0, options).ok());
  options.blocks = false;
  EXPECT_TRUE(PlanTiles(m.problem, m.Inputs(), 0, options).ok());
}

}  // namespace
}  // namespace lockstep::optimized
