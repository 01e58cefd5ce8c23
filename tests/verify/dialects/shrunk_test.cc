// Grid-shrinking tables: the published ones.
#include "verify/tables/dialects/shrunk.h"

#include <cstdint>

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

struct GoldenShrunk {
  const char* mask;
  int64_t width, width_t;
  const char* data_next;
  const char* block_mask;
  const char* data_next_t;
  const char* block_mask_t;
};
constexpr GoldenShrunk kGoldenShrunk[] = {
    {"C1", 4, 4, "0000/0100/0120/0123", "1000/2100/2210/2221",
     "0123/1230/2300/3000", "1222/1220/1200/1000"},
    {"C2", 3, 3, "000/010/120/123", "100/110/110/111", "010/123/230/300",
     "110/111/110/100"},
    {"C3", 3, 3, "000/000/010/013", "100/000/220/221", "023/230/000/300",
     "122/220/000/100"},
    {"C4", 2, 2, "00/01/12/23", "10/11/11/11", "01/12/23/30", "11/11/11/10"},
};

TEST(Shrunk, GoldenShrunk) {
  for (const GoldenShrunk& golden : kGoldenShrunk) {
    SCOPED_TRACE(golden.mask);
    const Planned p = PlanOf(Golden(golden.mask), Tiles(2, 2));
    const Result<ShrunkTables> tables = ExportShrunk(p.plan, 0, 0);
    ASSERT_TRUE(tables.ok()) << tables.message();
    const auto& [forward, transposed] = tables->patterns[0];
    EXPECT_EQ(forward.grid_width, golden.width);
    EXPECT_EQ(transposed.grid_width, golden.width_t);
    EXPECT_EQ(Digits(forward.data_next, golden.width), golden.data_next);
    EXPECT_EQ(Digits(forward.block_mask, golden.width), golden.block_mask);
    EXPECT_EQ(Digits(transposed.data_next, golden.width_t), golden.data_next_t);
    EXPECT_EQ(Digits(transposed.block_mask, golden.width_t),
              golden.block_mask_t);
    const Result<PlanTrace> trace = LiftShrunk(tables.value());
    ASSERT_TRUE(trace.ok()) << trace.message();
    const auto violations = CheckPlan(trace.value(), p.intended);
    EXPECT_TRUE(violations.empty()) << test::Messages(violations);
  }
}

TEST(Shrunk, AnEmptyMaskHasOneStepOfPadding) {
  const Planned p = PlanOf(Golden("none"), Tiles(2, 2));
  const Result<ShrunkTables> tables = ExportShrunk(p.plan, 0, 0);
  ASSERT_TRUE(tables.ok());
  EXPECT_EQ(tables->patterns[0].forward.grid_width, 1);
  const Result<PlanTrace> trace = LiftShrunk(tables.value());
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(test::Names(CheckPlan(trace.value(), p.intended)), "");
}

TEST(Shrunk, RefusesTablesThatDoNotFitTogether) {
  const Planned p = PlanOf(Golden("C1"), Tiles(2, 2));
  const Result<ShrunkTables> tables = ExportShrunk(p.plan, 0, 0);
  ASSERT_TRUE(tables.ok());
  EXPECT_FALSE(ExportShrunk(p.plan, 3, 0).ok());
  EXPECT_FALSE(ExportShrunk(p.plan, 0, 3).ok());
  ShrunkTables broken = tables.value();
  broken.patterns[0].forward.data_next.pop_back();
  EXPECT_FALSE(LiftShrunk(broken).ok());
  broken = tables.value();
  broken.head_pattern[0] = 1;
  EXPECT_FALSE(LiftShrunk(broken).ok());
  broken.head_pattern[0] = -1;
  EXPECT_FALSE(LiftShrunk(broken).ok());
}

}  // namespace
}  // namespace lockstep::verify
