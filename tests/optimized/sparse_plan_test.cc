// Sparse execution: attention from a tile plan gives the bits of the
// reference, looks at active tiles only, and does what the plan says.
#include "optimized/sparse_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "optimized/tile_plan.h"
#include "tests/support/attention_problem.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::Instance;

std::vector<uint32_t> RunSparse(Instance& instance, const SparsePlan& sparse,
                                AttentionForwardExecution* execution) {
  test::Outputs outputs(instance.problem);
  const AttentionForwardInputs in = instance.Inputs();
  const Status status =
      AttentionForward(instance.problem, in, sparse, outputs.View(), execution);
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs.Bits();
}

// Tiles of `tile_q` queries for the kernel's own tiles of keys.
SparsePlan PlanWith(Instance& instance, const Caps& caps, int64_t tile_q,
                    bool blocks) {
  SparsePlan sparse;
  sparse.plan = MakePlan(instance.problem, caps).value();
  const AttentionForwardInputs in = instance.Inputs();
  for (int64_t b = 0; b < instance.problem.batch; ++b) {
    TileOptions options;
    options.tile_q = tile_q;
    options.tile_k = sparse.plan.tile_keys;
    options.blocks = blocks;
    sparse.tiles.push_back(PlanTiles(instance.problem, in, b, options).value());
  }
  return sparse;
}

TEST(SparsePlan, BitsEqualTheReferenceOnRandomProblems) {
  AttentionForwardExecution total;
  for (uint32_t seed = 0; seed < test::Volume(600); ++seed) {
    std::mt19937 rng(seed);
    Instance instance = test::RandomInstance(rng);
    Caps caps;
    caps.threads = static_cast<int>(Draw(rng, 1, 2));
    caps.tile_rows = Draw(rng, 1, 80);
    caps.tile_keys = 16 * Draw(rng, 1, 6);
    const bool blocks = Draw(rng, 0, 1) == 1;
    const SparsePlan sparse =
        PlanWith(instance, caps, Draw(rng, 1, 90), blocks);
    AttentionForwardExecution execution;
    ASSERT_EQ(instance.RunReference(), RunSparse(instance, sparse, &execution))
        << "seed " << seed << (blocks ? " blocks " : " computed ")
        << sparse.plan.ToString();
    total.tiles_empty += execution.tiles_empty;
    total.tiles_full += execution.tiles_full;
    total.tiles_partial += execution.tiles_partial;
    total.rows_redone += execution.rows_redone;
  }
  EXPECT_GT(total.tiles_empty, test::Volume(1000));
  EXPECT_GT(total.tiles_full, test::Volume(1000));
  EXPECT_GT(total.tiles_partial, test::Volume(1000));
  EXPECT_GT(total.rows_redone, test::Volume(1000));
}

// Four documents of 64 tokens, causal: 10 of 16 tiles of a document, and no
// other, are active.
Instance Documents(std::mt19937& rng) {
  Instance instance;
  AttentionForwardProblem& p = instance.problem;
  p.q_heads = 2;
  p.q_len = p.kv_len = 256;
  p.head_dim = p.value_dim = 8;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  p.segments = true;
  instance.Fill(rng);
  for (size_t i = 0; i < 256; ++i) {
    instance.q_seg[i] = instance.kv_seg[i] = static_cast<int32_t>(i / 64);
  }
  return instance;
}

TEST(SparsePlan, ActiveTilesAreVisitedAndNoOthers) {
  std::mt19937 rng(5);
  Instance instance = Documents(rng);
  const std::vector<uint32_t> expected = instance.RunReference();
  Caps caps;
  caps.tile_rows = 16;
  caps.tile_keys = 16;
  for (const bool blocks : {false, true}) {
    AttentionForwardExecution execution;
    EXPECT_EQ(
        expected,
        RunSparse(instance, PlanWith(instance, caps, 16, blocks), &execution));
    EXPECT_EQ(execution.tiles_partial, 2 * 4 * 4);
    EXPECT_EQ(execution.tiles_full, 2 * 4 * 6);
    EXPECT_EQ(execution.tiles_empty, 2 * (16 * 16 - 4 * 10));
  }
}

// Apart from what the counters say: a NaN in a tile of hidden values costs the
// rows that work on the tile their fast path, and nobody else.
TEST(SparsePlan, HiddenTilesAreNotWorkedOn) {
  std::mt19937 rng(5);
  Instance instance = Documents(rng);
  const size_t per_head = 256 * 8;
  for (size_t at = 0; at < 64 * 8; ++at) {  // the first document
    instance.v[at] = std::numeric_limits<float>::quiet_NaN();
  }
  ASSERT_EQ(instance.v.size(), per_head);
  Caps caps;
  caps.tile_rows = 16;
  caps.tile_keys = 16;
  AttentionForwardExecution execution;
  EXPECT_EQ(
      instance.RunReference(),
      RunSparse(instance, PlanWith(instance, caps, 16, false), &execution));
  EXPECT_EQ(execution.rows_redone, 2 * 64);
}

// Stored blocks are the mask: a plan with a tile less gives the result of the
// mask without it.
TEST(SparsePlan, StoredTilesDecide) {
  std::mt19937 rng(6);
  Instance instance = Documents(rng);
  Caps caps;
  caps.tile_rows = 32;
  caps.tile_keys = 32;
  SparsePlan sparse = PlanWith(instance, caps, 32, true);
  const std::vector<uint32_t> before = RunSparse(instance, sparse, nullptr);
  instance.dense.resize(256 * 256);
  for (int64_t i = 0; i < 256; ++i) {
    for (int64_t j = 0; j < 256; ++j) {
      const bool dropped = i / 32 == 3 && j / 32 == 2;
      instance.dense[static_cast<size_t>(i * 256 + j)] =
          i / 64 == j / 64 && j <= i && !dropped;
    }
  }
  TileList& list = sparse.tiles[0].patterns[0].by_query;
  const auto at = static_cast<size_t>(list.start[3]);
  ASSERT_EQ(list.inner[at], 2);
  const auto place = static_cast<std::ptrdiff_t>(at);
  list.inner.erase(list.inner.begin() + place);
  list.classes.erase(list.classes.begin() + place);
  list.block.erase(list.block.begin() + place);
  for (size_t o = 4; o < list.start.size(); ++o) --list.start[o];
  sparse.tiles[0].patterns[0].by_key =
      Transpose(list, sparse.tiles[0].grid.cols());
  AttentionForwardExecution execution;
  const std::vector<uint32_t> after = RunSparse(instance, sparse, &execution);
  EXPECT_NE(before, after);
  instance.problem.masks[0].kind = MaskExpr::Kind::kDense;
  instance.problem.segments = false;
  EXPECT_EQ(after, instance.RunReference());
}

// The last tile of one direction goes.
void DropLast(TilePlan* plan, int direction) {
  TilePattern& pattern = plan->patterns[0];
  TileList& list = direction == 0 ? pattern.by_query : pattern.by_key;
  list.inner.pop_back();
  list.classes.pop_back();
  list.block.pop_back();
  for (int64_t& start : list.start) start = std::min(start, list.active());
}

// As many tiles, but a key tile moves to a query tile that had none.
void MoveOne(TilePlan* plan) {
  TileList& list = plan->patterns[0].by_key;
  const int64_t rows = plan->grid.rows();
  for (int64_t o = 0; o < list.outer(); ++o) {
    const auto end =
        static_cast<size_t>(list.start[static_cast<size_t>(o) + 1]);
    if (end == static_cast<size_t>(list.start[static_cast<size_t>(o)]))
      continue;
    if (list.inner[end - 1] + 1 >= rows) continue;
    ++list.inner[end - 1];
    return;
  }
  FAIL() << "no tile to move";
}

TEST(SparsePlan, RefusesTablesThatDoNotFit) {
  std::mt19937 rng(5);
  Instance instance = Documents(rng);
  const AttentionForwardInputs in = instance.Inputs();
  Caps caps;
  caps.tile_keys = 64;
  const SparsePlan sound = PlanWith(instance, caps, 64, true);
  EXPECT_TRUE(CheckSparsePlan(instance.problem, sound).ok());
  struct Bend {
    const char* message;
    std::function<void(SparsePlan*)> bend;
  };
  const Bend kBends[] = {
      {"of 0 batch rows", [](SparsePlan* s) { s->tiles.clear(); }},
      {"is for 1x256", [](SparsePlan* s) { s->tiles[0].grid.q_len = 1; }},
      {"tiles of 16 keys", [](SparsePlan* s) { s->tiles[0].grid.tile_k = 16; }},
      {"segment ids",
       [](SparsePlan* s) { s->tiles[0].options.segments = false; }},
      {"not as large", [](SparsePlan* s) { s->tiles[0].pool.cols = 32; }},
      {"a pattern for every",
       [](SparsePlan* s) { s->tiles[0].head_pattern[1] = 1; }},
      {"does not fit",
       [](SparsePlan* s) { s->tiles[0].patterns[0].by_query.inner[1] = 4; }},
      {"does not fit",
       [](SparsePlan* s) { s->tiles[0].patterns[0].by_query.block[0] = 9; }},
      {"does not fit",
       [](SparsePlan* s) { s->tiles[0].patterns[0].by_query.start[2] = 9; }},
      {"does not fit",
       [](SparsePlan* s) { s->tiles[0].patterns[0].by_key.start.pop_back(); }},
      {"name other tiles", [](SparsePlan* s) { DropLast(&s->tiles[0], 0); }},
      {"name other tiles", [](SparsePlan* s) { DropLast(&s->tiles[0], 1); }},
      {"name other tiles", [](SparsePlan* s) { MoveOne(&s->tiles[0]); }},
  };
  for (const Bend& bend : kBends) {
    SparsePlan bent = sound;
    bend.bend(&bent);
    test::Outputs outputs(instance.problem);
    const Status status =
        AttentionForward(instance.problem, in, bent, outputs.View(), nullptr);
    EXPECT_NE(status.message().find(bend.message), std::string::npos)
        << bend.message << ": " << status.message();
  }
}

}  // namespace
}  // namespace lockstep::optimized
