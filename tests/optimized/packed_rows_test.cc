// Ids to segments, and what the queries of a row select by them.
#include "optimized/packed_rows.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/row_keys.h"
#include "reference/contract/status.h"
#include "reference/mask.h"
#include "tests/support/attention_problem.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using Ids = std::vector<int32_t>;
using Runs = std::vector<IdRun>;

TensorView<const int32_t, 2> Row(const Ids& ids) {
  const auto length = static_cast<int64_t>(ids.size());
  return {ids.data(), {1, length}, {length, 1}};
}

TEST(PackedRows, RunsAreByPositionAndSegmentsById) {
  // Two rows of every second number; ids of 2^30 and more stay apart.
  const int32_t big = (1 << 30) + 1;
  const Ids ids{5, 0, 5, 0, 3, 0, big, 0, big + 1, 0, -1, 0, 5, 0, -1, 0};
  const TensorView<const int32_t, 2> rows{ids.data(), {2, 4}, {8, 2}};
  Runs first = RunsOf(rows, 0), second = RunsOf(rows, 1);
  EXPECT_EQ(first, (Runs{{5, {0, 2}}, {3, {2, 3}}, {big, {3, 4}}}));
  EXPECT_EQ(second,
            (Runs{{big + 1, {0, 1}}, {-1, {1, 2}}, {5, {2, 3}}, {-1, {3, 4}}}));
  EXPECT_EQ(JoinSegments(&first), 3);
  EXPECT_EQ(JoinSegments(&second), 3);
  EXPECT_EQ(second,
            (Runs{{-1, {1, 2}}, {-1, {3, 4}}, {5, {2, 3}}, {big + 1, {0, 1}}}));
  Runs none = RunsOf(Row({}), 0);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(JoinSegments(&none), 0);
}

TEST(PackedRows, AQuerySelectsItsOwnSegmentAndNoOther) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    AttentionForwardProblem p;
    p.q_len = Draw(rng, 1, 12);
    p.kv_len = Draw(rng, 1, 20);
    p.segments = true;
    Ids q, kv;
    for (int64_t i = 0; i < p.q_len; ++i) q.push_back(Draw(rng, 0, 3));
    for (int64_t j = 0; j < p.kv_len; ++j) kv.push_back(Draw(rng, 0, 3));
    AttentionForwardInputs in;
    in.q_seg = Row(q);
    in.kv_seg = Row(kv);
    Selection truth;
    for (int64_t i = 0; i < p.q_len; ++i) {
      int64_t seen = 0;
      for (int64_t j = 0; j < p.kv_len; ++j) {
        seen += reference::IsVisible(p, in, 0, 0, i, j);
      }
      truth.queries += seen > 0;
      truth.pairs += seen;
    }
    const Selection selection = RowKeys(p, in, 0, true).Select(0);
    ASSERT_EQ(selection.queries, truth.queries) << seed;
    ASSERT_EQ(selection.pairs, truth.pairs) << seed;
  }
}

struct Packer {
  Ids ids{0, 0, 1, 2, -1, 3, 3, 3, 4, -1};
  PackedCounts counts{{4, 4}, {3, 2}, {1, 1, 0, 1, 0, 1, 1, 1, 1, 0}};
};

struct Fault {
  std::string said;  // empty: none
  void (*plant)(Packer*);
};

TEST(PackedRows, WhatNoPackerMakesIsRefusedByRowAndToken) {
  const std::vector<Fault> faults = {
      {"", [](Packer*) {}},
      {"", [](Packer* p) { p->counts = {}; }},
      {"row 0 token 2: id 5 follows padding",
       [](Packer* p) { p->ids = {0, -1, 5, 5, -1, 0, 0, 0, 0, 0}; }},
      {"row 0 token 3: id 0 comes back", [](Packer* p) { p->ids[3] = 0; }},
      {"row 1 token 3: id 2 follows 3", [](Packer* p) { p->ids[8] = 2; }},
      {"row 1: valid is 4, the ids have 5", [](Packer* p) { p->ids[9] = 4; }},
      {"row 1: valid is 6, the ids have 4",
       [](Packer* p) { p->counts.valid[1] = 6; }},
      {"row 0: num_docs is 2, the ids have 3",
       [](Packer* p) { p->counts.documents[0] = 2; }},
      {"row 1 token 4: padding has a loss",
       [](Packer* p) { p->counts.loss_mask[9] = 1; }}};
  for (const Fault& fault : faults) {
    Packer packer;
    fault.plant(&packer);
    const TensorView<const int32_t, 2> ids{packer.ids.data(), {2, 5}, {5, 1}};
    const Status status = CheckPacked(ids, -1, packer.counts);
    EXPECT_EQ(status.ok(), fault.said.empty()) << status.message();
    EXPECT_EQ(status.message().find(fault.said), 0u) << status.message();
  }
}

}  // namespace
}  // namespace lockstep::optimized
