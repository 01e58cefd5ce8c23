// Flat lists: the published ones.
#include "verify/tables/dialects/flat_list.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/verify/plan_fixture.h"
#include "verify/tables/invariants.h"

namespace lockstep::verify {
namespace {

using test::Golden;
using test::Names;
using test::Planned;
using test::PlanOf;
using test::Tiles;

// Entries in a row, -1 as '-'.
std::string Row(const std::vector<int32_t>& values) {
  std::string text;
  for (const int32_t value : values) {
    text += value < 0 ? "-" : std::to_string(value);
  }
  return text;
}

// "rows cols block_mask mask_next".
std::string TextOfPass(const FlatPass& pass) {
  return Row(pass.rows) + " " + Row(pass.cols) + " " + Row(pass.block_mask) +
         " " + Row(pass.mask_next);
}

Result<FlatTables> FlatTablesOf(const char* mask, int64_t q_shards = 1,
                                int64_t kv_shards = 1, int64_t length = 8) {
  return ExportFlat(PlanOf(Golden(mask, length), Tiles(2, 2)).plan, q_shards,
                    kv_shards);
}

std::string CheckFlat(const char* mask, const FlatTables& tables) {
  const Result<PlanTrace> trace = LiftFlat(tables);
  EXPECT_TRUE(trace.ok()) << trace.message();
  return Names(
      CheckPlan(trace.value(),
                PlanOf(Golden(mask, tables.grid.q_len), Tiles(2, 2)).intended));
}

TEST(FlatList, GoldenTables) {
  const struct {
    const char* mask;
    int64_t length;
    const char* forward;
    const char* transposed;
    const char* violations;
  } kRows[] = {
      {"C1", 8, "0112223333 0010120123 1212212221 0000000000",
       "0000111223 0123123233 1222122121 0000000000", ""},
      {"C2", 8, "01122333 00112123 11111111 01230412",
       "00111223 01123233 11111111 01234012", ""},
      // Query tile 1 is never written.
      {"C3", 8, "022333 001013 122221 000000",
       "0001123 0232303 1222201 0000000", "I9"},
      {"none", 4, "   ", "01 00 00 ", "I9"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.mask);
    const Result<FlatTables> t = FlatTablesOf(row.mask, 1, 1, row.length);
    ASSERT_TRUE(t.ok()) << t.message();
    EXPECT_EQ(TextOfPass(t->forward), row.forward);
    EXPECT_EQ(TextOfPass(t->transposed), row.transposed);
    EXPECT_EQ(CheckFlat(row.mask, t.value()), row.violations);
  }
}

TEST(FlatList, GoldenTablesOfShards) {
  const Result<FlatTables> q = FlatTablesOf("C1", 2, 1);
  ASSERT_TRUE(q.ok());
  EXPECT_EQ(TextOfPass(q->forward),
            "011----0001111 001----0120123 121----2212221 000----0000000");
  EXPECT_EQ(q->forward.counts, (std::vector<int64_t>{3, 7}));
  EXPECT_EQ(TextOfPass(q->transposed),
            "00123--0011223 01100--0101011 12100--2222121 00000--0000000");
  EXPECT_EQ(q->transposed.counts, (std::vector<int64_t>{5, 7}));
  EXPECT_EQ(CheckFlat("C1", q.value()), "");
  const Result<FlatTables> kv = FlatTablesOf("C1", 1, 2);
  ASSERT_TRUE(kv.ok());
  EXPECT_EQ(TextOfPass(kv->forward),
            "0112233233---- 0010101001---- 1212222121---- 0000000000----");
  EXPECT_EQ(kv->forward.counts, (std::vector<int64_t>{7, 3}));
  EXPECT_EQ(TextOfPass(kv->transposed),
            "0000111001---- 0123123233---- 1222122121---- 0000000000----");
  EXPECT_EQ(kv->transposed.counts, (std::vector<int64_t>{7, 3}));
  // Shard 1 of the keys never writes query tiles 0 and 1.
  EXPECT_EQ(CheckFlat("C1", kv.value()), "I9");
}

TEST(FlatList, AFullMaskHasNoLists) {
  const Planned p = PlanOf(Golden("all"), Tiles(2, 2));
  const Result<FlatTables> t = ExportFlat(p.plan, 1, 1);
  ASSERT_TRUE(t.ok());
  EXPECT_TRUE(t->dense);
  EXPECT_TRUE(t->forward.rows.empty());
  EXPECT_EQ(CheckFlat("all", t.value()), "");
}

TEST(FlatList, RefusesWhatTheDialectCannotSay) {
  EXPECT_FALSE(FlatTablesOf("C1", 3, 1).ok());
  EXPECT_FALSE(FlatTablesOf("C1", 2, 2).ok());
  EXPECT_FALSE(FlatTablesOf("C1", 1, 1, 7).ok());
  FlatTables t = FlatTablesOf("C1").value();
  t.forward.cols.pop_back();
  EXPECT_FALSE(LiftFlat(t).ok());
  t = FlatTablesOf("C1").value();
  t.forward.counts[0] = 11;
  EXPECT_FALSE(LiftFlat(t).ok());
}

}  // namespace
}  // namespace lockstep::verify
