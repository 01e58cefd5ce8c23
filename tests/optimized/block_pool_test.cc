// Blocks are stored once each, by full content.
#include "optimized/block_pool.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::optimized {
namespace {

// Whole rows of a block but for one column.
std::vector<BlockRange> AllBut(int32_t rows, int32_t cols, int32_t row,
                               int32_t col) {
  std::vector<BlockRange> ranges;
  for (int32_t r = 0; r < rows; ++r) {
    if (r != row) {
      ranges.push_back({r, 0, cols});
      continue;
    }
    if (col > 0) ranges.push_back({r, 0, col});
    if (col + 1 < cols) ranges.push_back({r, col + 1, cols});
  }
  return ranges;
}

TEST(BlockPool, OneElementInsideMakesAnotherBlock) {
  for (const uint64_t hash_mask : {~uint64_t{0}, uint64_t{0}}) {
    BlockPoolBuilder builder(32, 64, hash_mask);
    EXPECT_EQ(builder.Add(AllBut(32, 64, 15, 30)), 0);
    EXPECT_EQ(builder.Add(AllBut(32, 64, 15, 31)), 1);
    EXPECT_EQ(builder.Add(AllBut(32, 64, 16, 30)), 2);
    EXPECT_EQ(builder.Add(AllBut(32, 64, 15, 30)), 0);
    const BlockPool pool = builder.Take();
    ASSERT_EQ(pool.size(), 3);
    EXPECT_EQ(pool.bytes(), 3 * 32 * 64);
    EXPECT_FALSE(pool.At(1, 15, 31));
    EXPECT_TRUE(pool.At(1, 15, 30));
  }
}

// Many short ranges are spelled as bits, few as ranges; neither is the other.
TEST(BlockPool, BothSpellingsFindTheirEqual) {
  std::vector<BlockRange> comb;
  for (int32_t c = 0; c < 64; c += 2) comb.push_back({0, c, c + 1});
  BlockPoolBuilder builder(1, 64, 0);
  EXPECT_EQ(builder.Add(comb), 0);
  EXPECT_EQ(builder.Add({}), 1);
  EXPECT_EQ(builder.Add(comb), 0);
  comb.back().end = 64;
  EXPECT_EQ(builder.Add(comb), 2);
  EXPECT_EQ(builder.Add({}), 1);
}

TEST(BlockPool, TransposesEveryBlock) {
  BlockPool pool{2, 70, {}};
  EXPECT_EQ(pool.Append(), 0);
  pool.Set(0, 1, 69, true);
  EXPECT_EQ(pool.Append(), 1);
  pool.Set(1, 0, 3, true);
  const BlockPool swapped = Transpose(pool);
  ASSERT_EQ(swapped.size(), 2);
  EXPECT_TRUE(swapped.At(0, 69, 1));
  EXPECT_TRUE(swapped.At(1, 3, 0));
  EXPECT_FALSE(swapped.At(0, 3, 0));
  EXPECT_EQ(Transpose(swapped), pool);
}

}  // namespace
}  // namespace lockstep::optimized
