// Tables made from tile lists: shapes, padding, capacity, widths, bytes.
#include "optimized/worklist.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/attention_problem.h"
#include "tests/support/mask_problem.h"

namespace lockstep::optimized {
namespace {

using test::Draw;

// Tile states [row][col], 0 1 2; blocks numbered in order.
TileList FromStates(const std::vector<std::vector<int>>& states) {
  TileList list;
  int32_t blocks = 0;
  for (const auto& row : states) {
    for (size_t col = 0; col < row.size(); ++col) {
      if (row[col] == 0) continue;
      list.inner.push_back(static_cast<int32_t>(col));
      list.classes.push_back(static_cast<TileClass>(row[col]));
      list.block.push_back(row[col] == 1 ? blocks++ : -1);
    }
    list.start.push_back(list.active());
  }
  return list;
}

TEST(Worklist, ActiveTilesFirstThenZeros) {
  const TileList list = FromStates({{0, 1, 2}, {0, 0, 0}, {2, 0, 1}});
  const Result<Worklist> work = MakeWorklist(list, 4);
  ASSERT_TRUE(work.ok()) << work.message();
  EXPECT_EQ(work->grid_width, 2);
  EXPECT_EQ(work->width, 4);
  EXPECT_EQ(work->data_next,
            (std::vector<int32_t>{1, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0}));
  EXPECT_EQ(work->block_mask,
            (std::vector<int32_t>{1, 2, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0}));
  EXPECT_EQ(work->mask_next,
            (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}));
}

TEST(Worklist, TransposeSwapsTheAxesAndKeepsTheBlocks) {
  const TileList list = FromStates({{0, 1, 2}, {0, 0, 0}, {2, 0, 1}});
  const TileList by_key = Transpose(list, 3);
  EXPECT_EQ(by_key.start, (std::vector<int64_t>{0, 1, 2, 4}));
  EXPECT_EQ(by_key.inner, (std::vector<int32_t>{2, 0, 0, 2}));
  EXPECT_EQ(by_key.block, (std::vector<int32_t>{-1, 0, -1, 1}));
  EXPECT_EQ(Transpose(by_key, 3), list);
}

TEST(Worklist, WidthIsThatOfTheFullestRowNotOfTheFirstOrLast) {
  for (const auto& states :
       {std::vector<std::vector<int>>{{2, 2}, {2, 0}}, {{2, 0}, {2, 2}}}) {
    EXPECT_EQ(MakeWorklist(FromStates(states), 0)->grid_width, 2);
  }
}

TEST(Worklist, AnEmptyMaskStillHasOneStep) {
  const Result<Worklist> work = MakeWorklist(FromStates({{0, 0}, {0, 0}}), 0);
  ASSERT_TRUE(work.ok());
  EXPECT_EQ(work->grid_width, 1);
  EXPECT_EQ(work->data_next, (std::vector<int32_t>{0, 0}));
}

TEST(Worklist, RefusesACapacityThatIsTooSmall) {
  const TileList list = FromStates({{2, 2, 2}});
  EXPECT_FALSE(MakeWorklist(list, 2).ok());
  EXPECT_TRUE(MakeWorklist(list, 3).ok());
}

TEST(Worklist, NarrowsToTheWidthThatHoldsEveryValue) {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  const struct {
    int32_t value;
    int bytes;
  } kRows[] = {{0, 1},     {127, 1},    {128, 2},   {32767, 2},
               {32768, 4}, {kMax, 4},   {-1, 1},    {-128, 1},
               {-129, 2},  {-32768, 2}, {-32769, 4}};
  for (const auto& row : kRows) {
    const std::vector<int32_t> values = {0, row.value, -1};
    const NarrowTable table = Narrow(values);
    EXPECT_EQ(table.bytes, row.bytes) << row.value;
    EXPECT_EQ(table.data.size(), values.size() * row.bytes);
    EXPECT_EQ(Widen(table), values);
  }
}

// The published sizes: tiles of 256, one head, two 32-bit coordinates.
TEST(Worklist, CoordinateBytesAtTenPercent) {
  EXPECT_EQ(CooBytesAtDensity(128 * 128, 10, 4), 13107);
  EXPECT_EQ(CooBytesAtDensity(256 * 256, 10, 4), 52429);
  EXPECT_EQ(CooBytesAtDensity(512 * 512, 10, 4), 209715);
  EXPECT_EQ(CooBytesAtDensity(512 * 512, 10, 2), 104858);
}

// A plan of 32k tokens with whole tiles active: the estimate, to the tile.
TEST(Worklist, CoordinateBytesOfARealPlan) {
  // 12 or 13 consecutive full tiles of 128 a row: 1638 of 16384.
  std::vector<std::vector<int>> states(128, std::vector<int>(128, 0));
  int64_t left = 1638;
  for (size_t row = 0; row < 128; ++row) {
    const int64_t active = left / static_cast<int64_t>(128 - row);
    for (int64_t n = 0; n < active; ++n) {
      states[row][(row + static_cast<size_t>(n)) % 128] = 2;
    }
    left -= active;
  }
  const TileList list = FromStates(states);
  ASSERT_EQ(list.active(), 1638);
  EXPECT_LT(CooBytesAtDensity(16384, 10, 4) - CooBytes(1638, 4), 8);
}

TEST(Worklist, HoldsExactlyThePlanOnRandomMasks) {
  for (uint32_t seed = 0; seed < 5000; ++seed) {
    std::mt19937 rng(seed);
    const test::MaskProblem m = test::RandomMaskProblem(rng);
    TileOptions options;
    options.tile_q = Draw(rng, 1, 9);
    options.tile_k = Draw(rng, 1, 9);
    const Result<TilePlan> plan = PlanTiles(m.problem, m.Inputs(), 0, options);
    ASSERT_TRUE(plan.ok());
    const TilePattern& pattern = plan->pattern(0);
    for (const TileList* list : {&pattern.by_query, &pattern.by_key}) {
      const int64_t slack = Draw(rng, 0, 3);
      const int64_t needed = std::max<int64_t>(1, list->MaxActive());
      const Result<Worklist> work = MakeWorklist(*list, needed + slack);
      ASSERT_TRUE(work.ok());
      TileList back;
      for (int64_t o = 0; o < work->outer; ++o) {
        for (int64_t s = 0; s < work->width; ++s) {
          const size_t at = work->At(o, s);
          if (work->block_mask[at] == 0) {
            EXPECT_EQ(work->data_next[at], 0);
            continue;
          }
          const bool full = work->block_mask[at] == 2;
          back.inner.push_back(work->data_next[at]);
          back.classes.push_back(static_cast<TileClass>(work->block_mask[at]));
          back.block.push_back(full ? -1 : work->mask_next[at]);
        }
        back.start.push_back(back.active());
      }
      EXPECT_EQ(back, *list) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace lockstep::optimized
