// Splash-style tables: the published ones.
#include "verify/tables/dialects/splash.h"

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

SplashTables Export(const Planned& p, int64_t q_shards = 1) {
  const Result<SplashTables> tables = ExportSplash(p.plan, q_shards);
  EXPECT_TRUE(tables.ok()) << tables.message();
  return tables.value();
}

std::string CheckSplash(const Planned& p, const SplashTables& tables) {
  const Result<PlanTrace> trace = LiftSplash(tables);
  EXPECT_TRUE(trace.ok()) << trace.message();
  return test::Messages(CheckPlan(trace.value(), p.intended));
}

// Rows of every block, "10/11 01/00".
std::string Blocks(const optimized::BlockPool& pool) {
  std::string text;
  for (int64_t b = 0; b < pool.size(); ++b) {
    if (b > 0) text += ' ';
    for (int64_t r = 0; r < pool.rows; ++r) {
      if (r > 0) text += '/';
      for (int64_t c = 0; c < pool.cols; ++c) {
        text += pool.At(b, r, c) ? '1' : '0';
      }
    }
  }
  return text;
}

struct GoldenTables {
  const char* mask;
  const char* data_next;
  const char* block_mask;
  const char* mask_next;
  const char* data_next_t;
  const char* block_mask_t;
  const char* mask_next_t;
  const char* pool;
  const char* pool_t;
};
constexpr GoldenTables kGolden[] = {
    {"C1", "0000/0100/0120/0123", "1000/2100/2210/2221", "0000/0000/0000/0000",
     "0000/1100/2220/3333", "1000/2100/2210/2221", "0000/0000/0000/0000",
     "10/11", "11/01"},
    {"C2", "000/010/120/123", "100/110/110/111", "000/120/300/412",
     "0100/0220/1333", "0100/1110/1111", "0200/0300/1412",
     "10/11 11/00 10/01 01/01 01/00", "11/01 10/10 10/01 00/11 00/10"},
    {"C3", "000/000/010/013", "100/000/220/221", "000/000/000/000",
     "0000/2200/3303", "1000/2200/2201", "0000/0000/0000", "10/11", "11/01"},
    {"C4", "00/01/12/23", "10/11/11/11", "00/10/10/10", "0120/1233",
     "1110/1111", "0000/1110", "10/11 11/01", "11/01 10/11"},
};

TEST(Splash, GoldenTables) {
  for (const GoldenTables& golden : kGolden) {
    SCOPED_TRACE(golden.mask);
    const Planned p = PlanOf(Golden(golden.mask), Tiles(2, 2));
    const SplashTables t = Export(p);
    EXPECT_EQ(Digits(t.forward.data_next, t.forward.cols), golden.data_next);
    EXPECT_EQ(Digits(t.forward.block_mask, t.forward.cols), golden.block_mask);
    EXPECT_EQ(Digits(t.forward.mask_next, t.forward.cols), golden.mask_next);
    EXPECT_EQ(Digits(t.transposed.data_next, 4), golden.data_next_t);
    EXPECT_EQ(Digits(t.transposed.block_mask, 4), golden.block_mask_t);
    EXPECT_EQ(Digits(t.transposed.mask_next, 4), golden.mask_next_t);
    EXPECT_EQ(Blocks(t.pool), golden.pool);
    EXPECT_EQ(Blocks(t.pool_t), golden.pool_t);
    EXPECT_EQ(CheckSplash(p, t), "");
  }
}

TEST(Splash, GoldenTablesOfTheWholeGrid) {
  const struct {
    const char* mask;
    const char* data_next;
    const char* data_next_t;
  } kRows[] = {{"C1", "0000/0100/0120/0123", "0123/1123/2223/3333"},
               {"C3", "0000/0000/0100/0133", "0233/2233/2233/3333"}};
  for (const auto& row : kRows) {
    const Planned p = PlanOf(Golden(row.mask), Tiles(2, 2));
    const Result<SplashTables> t = ExportSplash(p.plan, 1, false);
    ASSERT_TRUE(t.ok());
    EXPECT_EQ(Digits(t->forward.data_next, 4), row.data_next);
    EXPECT_EQ(Digits(t->transposed.data_next, 4), row.data_next_t);
    EXPECT_EQ(CheckSplash(p, t.value()), "");
  }
}

TEST(Splash, GoldenTablesOfTwoShards) {
  const Planned p = PlanOf(Golden("C1"), Tiles(2, 2));
  const SplashTables t = Export(p, 2);
  EXPECT_EQ(Digits(t.forward.data_next, 4), "0000/0111/0120/0123");
  EXPECT_EQ(Digits(t.forward.block_mask, 4), "1000/2100/2210/2221");
  EXPECT_EQ(Digits(t.transposed.data_next, 4), "0000/1100/0000/1111");
  EXPECT_EQ(CheckSplash(p, t), "");
}

TEST(Splash, AMaskOfAFunctionHasNoBlocks) {
  optimized::TileOptions options = Tiles(2, 2);
  options.blocks = false;
  const Planned p = PlanOf(Golden("C1"), options);
  const SplashTables t = Export(p);
  EXPECT_EQ(Digits(t.forward.data_next, 4), "0000/0100/0120/0123");
  EXPECT_EQ(Digits(t.forward.block_mask, 4), "1000/2100/2210/2221");
  EXPECT_TRUE(t.forward.mask_next.empty());
  EXPECT_EQ(t.pool.size(), 0);
  EXPECT_EQ(CheckSplash(p, t), "");
}

TEST(Splash, HeadsWithDifferentMasksHaveWholeTables) {
  test::MaskProblem m = Golden("C1", 4);
  m.problem.q_heads = 2;
  m.problem.masks.push_back(MaskExpr{});
  const Planned two = PlanOf(m, Tiles(2, 2));
  const SplashTables t = Export(two);
  EXPECT_FALSE(t.shrunk);
  EXPECT_EQ(Digits(t.forward.data_next, 2), "00/01/01/01");
  EXPECT_EQ(Digits(t.transposed.data_next, 2), "01/11/00/11");
  EXPECT_EQ(Digits(t.forward.block_mask, 2), "10/21/22/22");
  EXPECT_EQ(CheckSplash(two, t), "");
  m.problem.masks.pop_back();
  const Planned same = PlanOf(m, Tiles(2, 2));
  EXPECT_EQ(Export(same).forward.tables, 1);
  EXPECT_EQ(CheckSplash(same, Export(same)), "");
}

TEST(Splash, RefusesWhatTheDialectCannotSay) {
  EXPECT_FALSE(ExportSplash(PlanOf(Golden("none"), Tiles(2, 2)).plan, 1).ok());
  EXPECT_FALSE(ExportSplash(PlanOf(Golden("C1"), Tiles(3, 2)).plan, 1).ok());
  EXPECT_FALSE(ExportSplash(PlanOf(Golden("C1"), Tiles(2, 3)).plan, 1).ok());
  EXPECT_FALSE(ExportSplash(PlanOf(Golden("C1"), Tiles(2, 2)).plan, 3).ok());
  SplashTables t = Export(PlanOf(Golden("C1"), Tiles(2, 2)));
  t.q_shards = 3;
  EXPECT_FALSE(LiftSplash(t).ok());
  t.q_shards = 1;
  t.forward.data_next.pop_back();
  EXPECT_FALSE(LiftSplash(t).ok());
}

}  // namespace
}  // namespace lockstep::verify
