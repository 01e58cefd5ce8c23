// Block classes from document ranges, against every pair.
#include "optimized/document_blocks.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/attention_problem.h"

namespace lockstep::optimized {
namespace {

using test::Draw;

TileClass TruthOf(const std::vector<int32_t>& ids, const BlockRules& rules,
                  int64_t block, int64_t row, int64_t col) {
  bool any = false, all = true;
  for (int64_t i = row * block; i < (row + 1) * block; ++i) {
    for (int64_t j = col * block; j < (col + 1) * block; ++j) {
      const bool seen =
          j <= i &&
          ids[static_cast<size_t>(i)] == ids[static_cast<size_t>(j)] &&
          (!rules.left || i - j <= *rules.left) &&
          (!rules.valid || (i < *rules.valid && j < *rules.valid));
      any |= seen;
      all &= seen;
    }
  }
  if (!any) return TileClass::kEmpty;
  return all ? TileClass::kFull : TileClass::kPartial;
}

TEST(DocumentBlocks, ExactForSortedIdsAndNeverWrongForOthers) {
  int64_t slack = 0, full = 0, inexact = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    std::mt19937 rng(seed);
    const int64_t block = Draw(rng, 1, 5), blocks = Draw(rng, 1, 6);
    std::vector<int32_t> ids;
    for (int64_t t = 0; t < block * blocks; ++t) {
      ids.push_back(static_cast<int32_t>(Draw(rng, 0, 3)));
    }
    const bool sorted = Draw(rng, 0, 1) == 1;
    if (sorted) std::sort(ids.begin(), ids.end());
    BlockRules rules;
    if (Draw(rng, 0, 1)) rules.left = Draw(rng, 0, block * blocks);
    if (Draw(rng, 0, 1)) rules.valid = Draw(rng, 0, block * blocks);
    const DocumentRanges ranges = RangesOf(ids, block).value();
    for (int64_t row = 0; row < blocks; ++row) {
      for (int64_t col = 0; col < blocks; ++col) {
        const TileClass c = ClassifyBlock(ranges, rules, row, col);
        const TileClass truth = TruthOf(ids, rules, block, row, col);
        if (c == TileClass::kEmpty) {
          ASSERT_EQ(truth, TileClass::kEmpty) << seed;
        }
        if (c == TileClass::kFull) {
          ASSERT_EQ(truth, TileClass::kFull) << seed;
        }
        full += c == TileClass::kFull;
        slack += !sorted && c != truth;
        // Ids alone: a window or a count may meet them inside a block, and one
        // token is full on the diagonal.
        inexact +=
            sorted && !rules.left && !rules.valid && block > 1 && c != truth;
      }
    }
  }
  EXPECT_EQ(inexact, 0);
  EXPECT_GT(slack, 100);  // conservative is not exact
  EXPECT_GT(full, 100);
}

TEST(DocumentBlocks, SelectionsOutOfRangeAreDroppedNotClamped) {
  const std::vector<int32_t> ids{0, 0, 0, 0, 0, 0};
  const DocumentRanges ranges = RangesOf(ids, 2).value();
  const std::vector<int32_t> selected{0, -1, 1, 0, 7, 2};
  const auto classes = ClassifySelected(ranges, {}, selected, 2);
  ASSERT_TRUE(classes.ok());
  EXPECT_EQ(classes.value(),
            (std::vector<TileClass>{TileClass::kPartial, TileClass::kEmpty,
                                    TileClass::kPartial, TileClass::kFull,
                                    TileClass::kEmpty, TileClass::kPartial}));
  EXPECT_FALSE(ClassifySelected(ranges, {}, selected, 3).ok());
}

TEST(DocumentBlocks, BlocksHaveToDivideTheRow) {
  const std::vector<int32_t> ids(6);
  EXPECT_TRUE(RangesOf(ids, 3).ok());
  EXPECT_FALSE(RangesOf(ids, 4).ok());
  EXPECT_FALSE(RangesOf(ids, 0).ok());
}

}  // namespace
}  // namespace lockstep::optimized
