// Rows that the reference computes: all of them where that is cheap, and a
// fixed, telling sample where it is not.
#include "verify/judge/truth.h"
#include "tests/verify/trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "verify/ops/op.h"

namespace lockstep::verify {
namespace {

TEST(Truth, SmallCasesAreComparedWhole) {
  const auto trial = Open("attention_forward b=2 hq=2 sq=7 skv=5 d=8");
  const Truth truth = ComputeTruth(*trial, false, 0);
  EXPECT_FALSE(truth.sampled);
  EXPECT_EQ(truth.rows.size(), 28u);
  EXPECT_EQ(truth.bits[0].size(), 28u * 8);
  EXPECT_EQ(truth.bits[1].size(), 28u);
}

TEST(Truth, ThreadsDoNotChangeIt) {
  const auto trial =
      Open("attention_forward hq=4 sq=100 skv=300 d=64 mask=causal align=br");
  const Truth one = ComputeTruth(*trial, false, 1);
  const Truth three = ComputeTruth(*trial, false, 3);
  EXPECT_EQ(one.bits, three.bits);
}

TEST(Truth, LargeCasesAreSampledWhereFaultsGather) {
  const auto trial = Open(
      "attention_forward b=2 hq=8 sq=700 skv=700 d=32 "
      "q_seg=runs:301,399 kv_seg=runs:301,399");
  ASSERT_GT(trial->rows() * trial->RowCost(), kFullReferenceCost);
  const std::vector<int64_t> rows = RowsToCompare(*trial, false);
  EXPECT_LT(static_cast<int64_t>(rows.size()), trial->rows());
  EXPECT_GE(static_cast<int64_t>(rows.size()), kMinSampledRows);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  const std::set<int64_t> set(rows.begin(), rows.end());
  EXPECT_EQ(set.size(), rows.size());
  // Ends of sequence, both sides of the document boundary, first and last
  // batch row and head.
  for (const int64_t i : {0, 699, 300, 301}) {
    EXPECT_TRUE(set.contains(i)) << i;
    EXPECT_TRUE(set.contains((1 * 8 + 7) * 700 + i)) << i;
  }
  EXPECT_EQ(rows, RowsToCompare(*trial, false));
  EXPECT_EQ(static_cast<int64_t>(RowsToCompare(*trial, true).size()),
            trial->rows());
}

TEST(Truth, BothPoisonsAreSeenAndGuardsKept) {
  const auto trial = Open("attention_forward sq=3 skv=3 d=8 lane=bf16");
  auto first = trial->Allocate(0);
  auto second = trial->Allocate(0);
  ASSERT_TRUE(first.ok() && second.ok());
  PoisonOutputs(first.value(), kFirstPoison);
  PoisonOutputs(second.value(), kSecondPoison);
  EXPECT_TRUE(PaddingIntact(second->tensors[0]));
  const auto unwritten = FindUnwritten(*trial, first.value(), second.value());
  EXPECT_EQ(unwritten[0].unwritten, 24);
  EXPECT_EQ(unwritten[1].unwritten, 3);
  // The same poison twice is a value like any other.
  EXPECT_EQ(FindUnwritten(*trial, first.value(), first.value())[0].unwritten,
            0);
}

}  // namespace
}  // namespace lockstep::verify
