// Selection stages: edges, ties, and unions that keep who selected what.
#include "optimized/selection.h"

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/attention_problem.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using Indices = std::vector<int64_t>;
using Scores = std::vector<float>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Selection, TiesGoToTheLowerIndex) {
  EXPECT_EQ(TopScores(Scores{1, 3, 3, 2, 3}, 2), (Indices{1, 2}));
  EXPECT_EQ(TopScores(Scores{0, 0, 0}, 1), (Indices{0}));
  EXPECT_EQ(TopScores(Scores{5, 4}, 8), (Indices{0, 1}));
  EXPECT_TRUE(TopScores({}, 3).empty());
}

TEST(Selection, ANanIsBelowEveryNumber) {
  EXPECT_EQ(TopScores(Scores{kNaN, -1e30f, kNaN, 2}, 2), (Indices{1, 3}));
}

TEST(Selection, OnlyChildrenOfTheBestMetaBlocksAreLookedAt) {
  const Scores meta = {1, 9, 5};
  const Scores fine = {99, 0, 1, 2, 7};  // the last meta block has one child
  EXPECT_EQ(ExpandHierarchy(meta, fine, 2, 2, 2).value(), (Indices{3, 4}));
  EXPECT_EQ(ExpandHierarchy(meta, fine, 2, 1, 2).value(), (Indices{2, 3}));
  EXPECT_EQ(ExpandHierarchy(meta, fine, 2, 9, 2).value(), (Indices{0, 4}));
  EXPECT_EQ(ExpandHierarchy(meta, fine, 2, 1, 8).value(), (Indices{2, 3}));
  EXPECT_FALSE(ExpandHierarchy(meta, fine, 3, 1, 1).ok());
  EXPECT_FALSE(ExpandHierarchy(meta, fine, 0, 1, 1).ok());
  EXPECT_FALSE(ExpandHierarchy(meta, fine, 2, 0, 1).ok());
  EXPECT_FALSE(ExpandHierarchy(meta, fine, 2, 1, 0).ok());
}

TEST(Selection, CausalBlocksBeginNoLaterThanTheLastQuery) {
  for (int64_t stride = 1; stride <= 5; ++stride) {
    for (int64_t begin = 0; begin <= 20; ++begin) {
      for (int64_t length = 1; length <= 6; ++length) {
        int64_t expected = 0;
        for (int64_t block = 0; block < 7; ++block) {
          expected += block * stride <= begin + length - 1;
        }
        EXPECT_EQ(CausalBlocks(7, stride, begin, length), expected);
      }
    }
  }
}

TEST(Selection, BothModesJoinAlikeAndKeepMembership) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 rng(seed);
    const int64_t blocks = Draw(rng, 1, 12);
    const int64_t top_n = Draw(rng, 1, 5);
    const int64_t queries = Draw(rng, 1, 6);
    std::vector<int32_t> selected;
    for (int64_t n = 0; n < queries * top_n; ++n) {
      selected.push_back(static_cast<int32_t>(Draw(rng, -2, blocks + 1)));
    }
    const Union joined = JoinSelections(selected, blocks, UnionMode::kBitmap);
    const Union sorted = JoinSelections(selected, blocks, UnionMode::kSort);
    ASSERT_EQ(joined.blocks, sorted.blocks);
    ASSERT_EQ(joined.places, sorted.places);
    size_t present = 0;
    for (int32_t block = 0; block < blocks; ++block) {
      bool any = false;
      for (int64_t query = 0; query < queries; ++query) {
        bool chose = false;
        for (int64_t n = 0; n < top_n; ++n) {
          chose = chose ||
                  selected[static_cast<size_t>(query * top_n + n)] == block;
        }
        any = any || chose;
        const bool in_union =
            present < joined.blocks.size() && joined.blocks[present] == block;
        ASSERT_EQ(in_union && IsMember(joined, top_n, query,
                                       static_cast<int32_t>(present)),
                  chose);
      }
      present += any;
    }
    ASSERT_EQ(present, joined.blocks.size());
  }
}

TEST(Selection, WhatIsOutOfRangeIsDroppedNotClamped) {
  const Union joined =
      JoinSelections(std::vector<int32_t>{-1, 3, 4, 3}, 4, UnionMode::kBitmap);
  EXPECT_EQ(joined.blocks, (std::vector<int32_t>{3}));
  EXPECT_EQ(joined.places, (std::vector<int32_t>{-1, 0, -1, 0}));
}

}  // namespace
}  // namespace lockstep::optimized
