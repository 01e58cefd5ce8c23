// How long rows that come next are asked for. That they arrive is nothing a
// test can see: bench's row of documents lost a tenth without it.
#include "optimized/lines_ahead.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::optimized {
namespace {

int64_t PortionsOf(LinesAhead ahead) {
  int64_t portions = 0;
  for (; !ahead.done() && portions < 1000; ++portions) ahead.Ask(1);
  return portions;
}

TEST(LinesAhead, ARowTakesWholePortions) {
  const std::vector<char> memory(1 << 14);
  const auto rows = [&](int64_t next, int64_t count, int64_t bytes) {
    return PortionsOf(LinesAhead(memory.data(), next, count, bytes));
  };
  EXPECT_EQ(PortionsOf(LinesAhead()), 0);
  EXPECT_EQ(rows(512, 0, 512), 0);
  EXPECT_EQ(rows(1024, 3, 512), 6);
  EXPECT_EQ(rows(1024, 3, 100), 3);
  EXPECT_EQ(rows(1024, 3, 257), 6);
  // Rows side by side are one.
  EXPECT_EQ(rows(64, 8, 64), 2);
  EXPECT_EQ(rows(0, 1, 64), 1);
}

TEST(LinesAhead, EndsInTheMidstOfAnAnswer) {
  const std::vector<char> memory(4096);
  LinesAhead ahead(memory.data(), 1024, 2, 512);
  ahead.Ask(3);
  EXPECT_FALSE(ahead.done());
  ahead.Ask(100);
  EXPECT_TRUE(ahead.done());
}

TEST(LinesAhead, ChannelsThatLieApartAreNotAskedFor) {
  const std::vector<float> memory(4096);
  LaneView x;
  x.data = memory.data();
  x.shape = {1, 2, 16, 128};
  x.strides = DenseStrides(x.shape);
  // 4 rows of 512 bytes side by side.
  EXPECT_EQ(PortionsOf(LinesOf(x, 0, 1, 12, 4)), 8);
  x.lane = Lane::kBf16;
  EXPECT_EQ(PortionsOf(LinesOf(x, 0, 1, 12, 4)), 4);
  x.strides = {4096, 2048, 1, 16};
  EXPECT_TRUE(LinesOf(x, 0, 1, 12, 4).done());
}

}  // namespace
}  // namespace lockstep::optimized
