// The mask that tables are judged by, against the meaning of every pair.
#include "verify/tables/intended_mask.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/limits.h"
#include "reference/mask.h"
#include "tests/support/mask_problem.h"

namespace lockstep::verify {
namespace {

// Pairs of a head that are not what IsVisible says; also what Count and Bits
// make of a row of them.
int64_t WrongPairs(const IntendedMask& mask,
                   const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& in, int64_t head) {
  int64_t wrong = 0, pairs = 0;
  for (int64_t i = 0; i < problem.q_len; ++i) {
    std::vector<uint64_t> words(static_cast<size_t>(problem.kv_len) / 64 + 1);
    const int64_t begin = i % problem.kv_len;
    mask.Bits(head, i, begin, problem.kv_len - 1, words);
    int64_t bits = 0, seen_from = 0;
    for (const uint64_t word : words) bits += std::popcount(word);
    for (int64_t j = 0; j < problem.kv_len; ++j) {
      const bool seen = reference::IsVisible(problem, in, 0, head, i, j);
      wrong += mask.At(head, i, j) != seen;
      pairs += seen;
      seen_from += seen && j >= begin && j < problem.kv_len - 1;
    }
    wrong += bits != seen_from;
    wrong += mask.Count(head, i, begin, problem.kv_len - 1) != seen_from;
  }
  return wrong + (mask.Pairs(head) != pairs);
}

TEST(IntendedMask, IsTheMeaningOfEveryPair) {
  std::mt19937 rng(3);
  for (int n = 0; n < 4000; ++n) {
    const test::MaskProblem m = test::RandomMaskProblem(rng, {40, 1, 3});
    const AttentionForwardInputs in = m.Inputs();
    for (const bool segments : {true, false}) {
      AttentionForwardProblem asked = m.problem;
      asked.segments = segments && asked.segments;
      const IntendedMask mask = IntendedMask::Of(m.problem, in, 0, segments);
      ASSERT_EQ(mask.heads(), asked.q_heads);
      for (int64_t h = 0; h < asked.q_heads; ++h) {
        ASSERT_EQ(WrongPairs(mask, asked, in, h), 0) << "problem " << n;
      }
      int64_t ranges = 0;
      mask.ForAlike(0, 0, asked.q_len, [&](int64_t first, int64_t) {
        ranges += static_cast<int64_t>(mask.Keys(0, first).size());
      });
      ASSERT_LE(ranges, PlacesToAsk(m.problem, in, 0, segments));
    }
  }
}

// What is known of runs of queries is what each of them sees.
TEST(IntendedMask, QueriesOfARunSeeTheSame) {
  std::mt19937 rng(5);
  int64_t runs = 0, queries = 0;
  for (int n = 0; n < 2000; ++n) {
    const test::MaskProblem m = test::RandomMaskProblem(rng, {40, 1, 3});
    const IntendedMask mask = IntendedMask::Of(m.problem, m.Inputs(), 0, true);
    const int64_t end = mask.q_len() + 3;  // some lie outside
    for (int64_t h = 0; h < mask.heads(); ++h) {
      int64_t at = -2;
      mask.ForAlike(h, -2, end, [&](int64_t first, int64_t last) {
        ASSERT_EQ(first, at);
        at = last;
        ++runs;
        for (int64_t i = first; i < last; ++i) {
          const auto a = mask.Keys(h, first), b = mask.Keys(h, i);
          ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
        }
        const auto a = mask.Keys(h, first), b = mask.Keys(h, last);
        const bool inside = first >= 0 && last < mask.q_len();
        ASSERT_FALSE(inside &&
                     std::equal(a.begin(), a.end(), b.begin(), b.end()))
            << "neighbours that see the same are one run";
      });
      ASSERT_EQ(at, end);
      queries += end + 2;
      int64_t pairs = 0;
      for (int64_t i = 3; i < 17; ++i) pairs += mask.Count(h, i, 2, 29);
      EXPECT_EQ(mask.PairsIn(h, {3, 17}, {2, 29}), pairs);
    }
  }
  EXPECT_LT(runs, queries);
}

// A bound that is as far as the offset ends among the keys.
TEST(IntendedMask, BoundsMayBeAsFarAsOffsets) {
  for (const int64_t offset : {kMaxOffset, -kMaxOffset}) {
    test::MaskProblem m;
    m.problem.q_len = m.problem.kv_len = 5;
    m.problem.align = {Alignment::Kind::kOffset, offset};
    MaskExpr window;
    window.kind = MaskExpr::Kind::kWindow;
    window.left = window.right = kMaxOffset - 1;
    m.problem.masks = {window};
    const AttentionForwardInputs in = m.Inputs();
    const IntendedMask mask = IntendedMask::Of(m.problem, in, 0, true);
    EXPECT_EQ(WrongPairs(mask, m.problem, in, 0), 0) << offset;
    EXPECT_EQ(mask.Pairs(0), 10) << offset;
  }
}

TEST(IntendedMask, HeadsAreComparedByWhatTheySee) {
  test::MaskProblem m;
  m.problem.q_heads = m.problem.kv_heads = 3;
  m.problem.q_len = m.problem.kv_len = 5;
  MaskExpr causal, window, wider;
  causal.kind = MaskExpr::Kind::kCausal;
  window.kind = wider.kind = MaskExpr::Kind::kWindow;
  window.right = wider.right = 0;  // causal in other words
  wider.right = 1;                 // four pairs more
  m.problem.masks = {causal, window, wider};
  const IntendedMask mask = IntendedMask::Of(m.problem, m.Inputs(), 0, true);
  EXPECT_TRUE(mask.Same(0, 1));
  EXPECT_EQ(mask.Differences(0, 1), 0);
  EXPECT_FALSE(mask.Same(0, 2));
  EXPECT_EQ(mask.Differences(0, 2), 4);
  EXPECT_FALSE(mask.At(0, -1, 0));
  EXPECT_FALSE(mask.At(0, 5, 0));
  EXPECT_FALSE(mask.At(0, 4, 5));
}

}  // namespace
}  // namespace lockstep::verify
