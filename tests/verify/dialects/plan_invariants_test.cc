// Every way in which an invariant can fail, one edit of a sound trace each.
#include "verify/tables/invariants.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "tests/verify/plan_fixture.h"
#include "verify/tables/dialects/shrunk.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {
namespace {

using test::Golden;
using test::Planned;
using test::PlanOf;
using test::Tiles;

PlanTrace TraceOf(const Planned& p) {
  const Result<ShrunkTables> tables = ExportShrunk(p.plan, 0, 0);
  return LiftShrunk(tables.value()).value();
}

struct Edit {
  const char* what;
  const char* names;  // exactly these invariants fail
  std::function<void(PlanTrace*)> plant;
};

// Visits of head 0 in one direction; golden mask C1 has ten, row by row.
std::vector<TileVisit>& Visits(std::vector<TracedPass>* passes) {
  return (*passes)[0].heads[0].visits;
}

const std::vector<Edit>& Edits() {
  static const std::vector<Edit> edits = {
      {"nothing", "", [](PlanTrace*) {}},
      {"a tile twice", "I1 I13",
       [](PlanTrace* t) {
         auto& v = Visits(&t->forward);
         v.insert(v.begin() + 1, v[0]);
       }},
      {"two tiles in descending order", "I1",
       [](PlanTrace* t) {
         auto& v = Visits(&t->forward);
         std::swap(v[1], v[2]);
       }},
      {"descending order where it is declared", "",
       [](PlanTrace* t) {
         auto& v = Visits(&t->forward);
         std::swap(v[1], v[2]);
         t->forward[0].ascending = false;
       }},
      {"a partial tile as full", "I2 I5 I13",
       [](PlanTrace* t) { Visits(&t->forward)[0].state = 2; }},
      {"a tile left out", "I3 I5 I13",
       [](PlanTrace* t) { Visits(&t->forward).pop_back(); }},
      {"a tile left out of the transposed tables", "I3 I5 I13",
       [](PlanTrace* t) { Visits(&t->transposed).pop_back(); }},
      {"one element of a block", "I4 I5 I13",
       [](PlanTrace* t) { t->forward[0].pool.Set(0, 1, 0, false); }},
      {"one element of a transposed block", "I4 I5 I13",
       [](PlanTrace* t) { t->transposed[0].pool.Set(0, 1, 0, true); }},
      {"one tile more in the transposed tables", "I5 I14",
       [](PlanTrace* t) {
         const int64_t zeros = t->transposed[0].pool.Append();
         auto& v = Visits(&t->transposed);
         v.insert(v.end() - 1, {3, 2, 1, zeros, {}});
       }},
      {"a tile beyond the end", "I3 I5 I6 I8 I13",
       [](PlanTrace* t) { Visits(&t->forward)[9].inner = 4; }},
      {"a negative tile", "I1 I3 I5 I6 I8 I13",
       [](PlanTrace* t) { Visits(&t->forward)[9].inner = -1; }},
      {"an output tile beyond the end", "I3 I5 I6 I13",
       [](PlanTrace* t) { Visits(&t->forward)[9].outer = 4; }},
      {"a block beyond the end", "I3 I5 I6 I13",
       [](PlanTrace* t) { Visits(&t->forward)[0].block = 1; }},
      {"a negative block", "I3 I5 I6 I13",
       [](PlanTrace* t) { Visits(&t->forward)[0].block = -1; }},
      {"a state of 3", "I3 I5 I6 I13",
       [](PlanTrace* t) { Visits(&t->forward)[0].state = 3; }},
      {"padding beyond the tiles", "I7",
       [](PlanTrace* t) { t->forward[0].heads[0].padding[0].inner = 4; }},
      {"padding beyond the blocks", "I7",
       [](PlanTrace* t) { t->forward[0].heads[0].padding[0].block = 1; }},
      {"a grid too wide", "I8",
       [](PlanTrace* t) { t->forward[0].grid_width = 5; }},
      {"a grid too narrow", "I8",
       [](PlanTrace* t) { t->transposed[0].grid_width = 3; }},
      {"tables too narrow", "I8",
       [](PlanTrace* t) { t->forward[0].width = 3; }},
      {"tables with room", "", [](PlanTrace* t) { t->forward[0].width = 9; }},
      {"an output tile not written", "I9",
       [](PlanTrace* t) { t->forward[0].heads[0].stored.pop_back(); }},
      {"an output tile written twice", "I10",
       [](PlanTrace* t) { t->forward[0].heads[0].stored.push_back(0); }},
      {"an output tile taken up again", "I10",
       [](PlanTrace* t) {
         auto& v = Visits(&t->forward);
         std::rotate(v.begin() + 1, v.begin() + 2, v.begin() + 4);
       }},
      {"an empty tile within the slack", "I5",
       [](PlanTrace* t) {
         const int64_t zeros = t->forward[0].pool.Append();
         auto& v = Visits(&t->forward);
         v.insert(v.begin() + 1, {0, 1, 1, zeros, {}});
         t->slack = 1;
       }},
      {"an empty tile beyond the slack", "I5 I14",
       [](PlanTrace* t) {
         const int64_t zeros = t->forward[0].pool.Append();
         auto& v = Visits(&t->forward);
         v.insert(v.begin() + 1, {0, 1, 1, zeros, {}});
         v.insert(v.begin() + 2, {0, 2, 1, zeros, {}});
         t->slack = 1;
       }},
      {"a visit that only initialises", "",
       [](PlanTrace* t) {
         auto& v = Visits(&t->forward);
         v.insert(v.begin() + 1, {0, 1, 0, 0, {}});
       }},
  };
  return edits;
}

TEST(PlanInvariants, EveryEditIsNamed) {
  const Planned p = PlanOf(Golden("C1"), Tiles(2, 2));
  const PlanTrace sound = TraceOf(p);
  for (const Edit& edit : Edits()) {
    SCOPED_TRACE(edit.what);
    PlanTrace trace = sound;
    edit.plant(&trace);
    const auto found = CheckPlan(trace, p.intended);
    EXPECT_EQ(test::Names(found), edit.names) << test::Messages(found);
  }
}

// Blocks of 4 x 4 on 40 x 40: in tiles of 10 x 10 queries see the same in runs.
Planned PlanOfBlocks(bool blocks) {
  test::MaskProblem m;
  m.problem.q_len = m.problem.kv_len = 40;
  MaskExpr mask;
  mask.kind = MaskExpr::Kind::kDense;
  mask.block_q = mask.block_k = 4;
  m.problem.masks = {mask};
  m.dense.resize(1);
  m.dense[0].rows = m.dense[0].columns = 10;
  for (int n = 0; n < 100; ++n) m.dense[0].bits.push_back(n * n % 11 < 5);
  optimized::TileOptions options = Tiles(10, 10);
  options.blocks = blocks;
  return PlanOf(m, options);
}

int64_t CountOf(const std::vector<Violation>& found, Invariant invariant) {
  for (const Violation& one : found) {
    if (one.invariant == invariant) return one.count;
  }
  return 0;
}

// Wherever in a run of queries a kernel is shown one key more or less, it is
// found, and found once for each tile that reads the block.
TEST(PlanInvariants, EveryElementOfARunIsLookedAt) {
  const Planned p = PlanOfBlocks(true);
  const PlanTrace sound = TraceOf(p);
  ASSERT_EQ(test::Names(CheckPlan(sound, p.intended)), "");
  for (const bool transposed : {false, true}) {
    const auto passes =
        transposed ? &PlanTrace::transposed : &PlanTrace::forward;
    const TracedPass& pass = (sound.*passes)[0];
    ASSERT_GT(pass.pool.size(), 2);
    for (int64_t at = 0; at < pass.pool.size() * 100; ++at) {
      const int64_t block = at / 100, r = at / 10 % 10, c = at % 10;
      int64_t readers = 0;
      for (const TileVisit& visit : pass.heads[0].visits) {
        readers += visit.state == 1 && visit.block == block;
      }
      PlanTrace trace = sound;
      optimized::BlockPool& pool = (trace.*passes)[0].pool;
      pool.Set(block, r, c, !pool.At(block, r, c));
      const auto found = CheckPlan(trace, p.intended);
      ASSERT_EQ(CountOf(found, Invariant::kBlockIsMask), readers) << at;
      ASSERT_EQ(CountOf(found, Invariant::kEffectiveMask), readers) << at;
    }
  }
}

// A computed mask that is given the positions of another tile.
TEST(PlanInvariants, EveryTileOfAComputedMaskIsLookedAt) {
  const Planned p = PlanOfBlocks(false);
  const PlanTrace sound = TraceOf(p);
  ASSERT_EQ(test::Names(CheckPlan(sound, p.intended)), "");
  int64_t wrong = 0;
  for (const bool transposed : {false, true}) {
    const auto passes =
        transposed ? &PlanTrace::transposed : &PlanTrace::forward;
    for (size_t n = 0; n < (sound.*passes)[0].heads[0].visits.size(); ++n) {
      PlanTrace trace = sound;
      TileVisit& visit = (trace.*passes)[0].heads[0].visits[n];
      const int64_t other = (visit.inner + 1) % 4;
      visit.mask_inner = other;
      int64_t differs = 0;
      for (int64_t e = 0; visit.state == 1 && e < 100; ++e) {
        const int64_t r = e / 10, c = e % 10;
        const auto at = [&](int64_t inner) {
          return transposed
                     ? p.intended.At(0, inner * 10 + r, visit.outer * 10 + c)
                     : p.intended.At(0, visit.outer * 10 + r, inner * 10 + c);
        };
        differs += at(visit.inner) != at(other);
      }
      ASSERT_EQ(
          CountOf(CheckPlan(trace, p.intended), Invariant::kEffectiveMask),
          differs)
          << n;
      wrong += differs;
    }
  }
  EXPECT_GT(wrong, 100);
}

// The type has to hold what the mask needs, of each of the three kinds.
TEST(PlanInvariants, TypesAreChecked) {
  const Planned p = PlanOf(Golden("all", 300), Tiles(1, 1));
  PlanTrace trace = TraceOf(p);
  EXPECT_EQ(test::Names(CheckPlan(trace, p.intended)), "");
  trace.forward[0].outer_bytes = 1;
  EXPECT_EQ(test::Names(CheckPlan(trace, p.intended)), "I11");
  trace.forward[0].outer_bytes = 2;
  EXPECT_EQ(test::Names(CheckPlan(trace, p.intended)), "");
  trace.forward[0].inner_bytes = 1;
  EXPECT_EQ(test::Names(CheckPlan(trace, p.intended)), "I11");
}

TEST(PlanInvariants, MessagesNameThePlace) {
  const Planned p = PlanOf(Golden("C1"), Tiles(2, 2));
  PlanTrace trace = TraceOf(p);
  Visits(&trace.forward).pop_back();
  const auto found = CheckPlan(trace, p.intended);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].count, 1);
  EXPECT_EQ(found[0].message,
            "I3: forward, head 0: query tile 3, key tile 3 holds visible "
            "pairs and is not visited");
}

}  // namespace
}  // namespace lockstep::verify
