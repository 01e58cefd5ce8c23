// BlockMask lists: the published ones.
#include "verify/tables/dialects/block_mask.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "tests/verify/plan_fixture.h"
#include "verify/tables/invariants.h"

namespace lockstep::verify {
namespace {

using test::Digits;
using test::Golden;
using test::Planned;
using test::PlanOf;
using test::Tiles;

optimized::TileOptions Padded(int64_t q, int64_t k) {
  optimized::TileOptions options = Tiles(q, k);
  options.boundary = optimized::Boundary::kPadded;
  return options;
}

std::string CheckBlockMask(const Planned& p, const BlockMaskTables& tables) {
  const Result<PlanTrace> trace = LiftBlockMask(tables);
  EXPECT_TRUE(trace.ok()) << trace.message();
  return test::Messages(CheckPlan(trace.value(), p.intended));
}

std::string TextOfLists(const BlockLists& lists) {
  return Digits(lists.num, 4) + " " + Digits(lists.indices, 4);
}

TEST(BlockMask, GoldenLists) {
  const struct {
    const char* mask;
    const char* kv;
    const char* full_kv;
    const char* q;
    const char* full_q;
  } kRows[] = {
      {"C1", "1111 0123/1023/2013/3012", "0123 0123/0123/0123/0123",
       "1111 0123/1023/2013/3012", "3210 1230/2301/3012/0123"},
      {"C2", "1223 0123/0123/1203/1230", "0000 0123/0123/0123/0123",
       "2321 0123/1230/2301/3012", "0000 0123/0123/0123/0123"},
      {"C3", "1001 0123/0123/0123/3012", "0022 0123/0123/0123/0123",
       "1001 0123/0123/0123/3012", "2200 2301/2301/0123/0123"},
      {"C4", "1222 0123/0123/1203/2301", "0000 0123/0123/0123/0123",
       "2221 0123/1203/2301/3012", "0000 0123/0123/0123/0123"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.mask);
    const Planned p = PlanOf(Golden(row.mask), Padded(2, 2));
    const Result<BlockMaskTables> t = ExportBlockMask(p.plan);
    ASSERT_TRUE(t.ok()) << t.message();
    EXPECT_EQ(TextOfLists(t->kv), row.kv);
    EXPECT_EQ(TextOfLists(t->full_kv), row.full_kv);
    EXPECT_EQ(TextOfLists(t->q), row.q);
    EXPECT_EQ(TextOfLists(t->full_q), row.full_q);
    EXPECT_EQ(CheckBlockMask(p, t.value()), "");
  }
}

// Shares the planner's exact classes, but never marks a ragged tile full.
TEST(BlockMask, RaggedTilesAreNeverFull) {
  const Planned p = PlanOf(Golden("all", 3), Padded(2, 2));
  const Result<BlockMaskTables> t = ExportBlockMask(p.plan);
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->kv.num, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(t->full_kv.num, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(CheckBlockMask(p, t.value()), "");
  EXPECT_FALSE(
      ExportBlockMask(PlanOf(Golden("all", 3), Tiles(2, 2)).plan).ok());
}

// Every valid tile in the partial list: slow, but right.
TEST(BlockMask, AllActiveTilesAsPartialAreSound) {
  const Planned p = PlanOf(Golden("C2"), Padded(2, 2));
  BlockMaskTables t = ExportBlockMask(p.plan).value();
  EXPECT_EQ(CheckBlockMask(p, t), "");
  const Planned c1 = PlanOf(Golden("C1"), Padded(2, 2));
  t = ExportBlockMask(c1.plan).value();
  for (int32_t row = 0; row < 4; ++row) {
    t.kv.num[static_cast<size_t>(row)] = row + 1;
    t.full_kv.num[static_cast<size_t>(row)] = 0;
    t.q.num[static_cast<size_t>(row)] = 4 - row;
    t.full_q.num[static_cast<size_t>(row)] = 0;
    for (int32_t col = 0; col < 4; ++col) {
      const auto at = static_cast<size_t>(row * 4 + col);
      t.kv.indices[at] = col;
      t.q.indices[at] = (row + col) % 4;
    }
  }
  EXPECT_EQ(CheckBlockMask(c1, t), "");
}

TEST(BlockMask, RefusesListsThatDoNotFitTogether) {
  const Planned p = PlanOf(Golden("C1"), Padded(2, 2));
  const BlockMaskTables sound = ExportBlockMask(p.plan).value();
  BlockMaskTables t = sound;
  t.kv.num[0] = 5;
  EXPECT_FALSE(LiftBlockMask(t).ok());
  t = sound;
  t.full_q.indices.pop_back();
  EXPECT_FALSE(LiftBlockMask(t).ok());
  t = sound;
  t.tables = 2;
  EXPECT_FALSE(LiftBlockMask(t).ok());
}

}  // namespace
}  // namespace lockstep::verify
