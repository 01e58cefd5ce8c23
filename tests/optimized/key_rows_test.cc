// A walk over rows gives the same addresses as the rows' numbers do.
#include "optimized/key_rows.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::optimized {
namespace {

struct Pool {
  std::vector<float> memory = std::vector<float>(4096);
  std::vector<float> zeros = std::vector<float>(8);
  std::vector<int32_t> table = {5, -9, 2, -9, 7, -9, 1 << 30, -9};

  // Rows of 2 channels in pages of `size`; every other entry of the table
  // counts.
  KeyRows<float> Rows(uint32_t size, int64_t keys) const {
    return {.first = memory.data(),
            .next = 3,
            .keys = keys,
            .zeros = zeros.data(),
            .table = table.data(),
            .table_next = 2,
            .size = size,
            .page_next = 400};
  }
};

TEST(RowWalk, FollowsTheTable) {
  const Pool pool;
  for (const uint32_t size : {1, 2, 7, 16, 100}) {
    const int64_t keys = 3 * int64_t{size} - (size > 1 ? 1 : 0);
    const KeyRows<float> rows = pool.Rows(size, keys);
    for (int64_t first = 0; first <= keys; ++first) {
      RowWalk<float> walk(rows, first);
      for (int64_t key = first; key < keys; ++key) {
        ASSERT_EQ(walk.Next(), rows(key)) << size << " " << first << " " << key;
      }
      // Entries behind the last key are not read.
      for (int n = 0; n < 5; ++n) EXPECT_EQ(walk.Next(), pool.zeros.data());
    }
  }
}

TEST(RowWalk, GoesOnWhereRowsLieTogether) {
  const std::vector<float> memory(64);
  KeyRows<float> rows;
  rows.first = memory.data();
  rows.next = 4;
  RowWalk<float> walk(rows, 3);
  for (int64_t key = 3; key < 16; ++key) EXPECT_EQ(walk.Next(), rows(key));
}

// Nor does a walk take a real row behind the last key.
TEST(RowWalk, EndsInZeros) {
  const Pool pool;
  KeyRows<float> rows;
  rows.first = pool.memory.data();
  rows.next = 4;
  rows.keys = 5;
  rows.zeros = pool.zeros.data();
  RowWalk<float> walk(rows, 3);
  EXPECT_EQ(walk.Next(), rows(3));
  EXPECT_EQ(walk.Next(), rows(4));
  for (int n = 0; n < 5; ++n) EXPECT_EQ(walk.Next(), pool.zeros.data());
  RowWalk<float> behind(rows, 7);
  for (int n = 0; n < 5; ++n) EXPECT_EQ(behind.Next(), pool.zeros.data());
}

// A walk without steps may begin anywhere.
TEST(RowWalk, LooksUpNothingAhead) {
  const Pool pool;
  const KeyRows<float> rows = pool.Rows(4, 12);
  const RowWalk<float> walk(rows, int64_t{1} << 40);
  (void)walk;
}

}  // namespace
}  // namespace lockstep::optimized
