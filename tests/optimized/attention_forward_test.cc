// The promise: the same bits as the reference for every target, tile size and
// thread count.
#include "optimized/attention_forward.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/plan.h"
#include "tests/support/attention_problem.h"
#include "tests/support/runnable_targets.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::Instance;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

Caps RandomCaps(std::mt19937& rng) {
  Caps caps;
  const std::vector<std::string> usable = test::RunnableTargets();
  caps.target = usable[static_cast<size_t>(
      Draw(rng, 0, static_cast<int64_t>(usable.size()) - 1))];
  caps.threads = static_cast<int>(Draw(rng, 1, 2));
  if (Draw(rng, 0, 1)) caps.tile_rows = Draw(rng, 1, 80);
  if (Draw(rng, 0, 1)) caps.tile_keys = 16 * Draw(rng, 1, 6);
  if (Draw(rng, 0, 1)) caps.kept_tiles = Draw(rng, 0, 2);
  return caps;
}

void Add(const AttentionForwardExecution& one,
         AttentionForwardExecution& total) {
  total.tiles_empty += one.tiles_empty;
  total.tiles_full += one.tiles_full;
  total.tiles_partial += one.tiles_partial;
  total.tiles_kept += one.tiles_kept;
  total.rows_fixed += one.rows_fixed;
  total.rows_online += one.rows_online;
  total.rows_redone += one.rows_redone;
  total.rows_empty += one.rows_empty;
}

TEST(AttentionForward, BitsEqualTheReferenceOnRandomProblems) {
  AttentionForwardExecution total;
  for (uint32_t seed = 0; seed < test::Volume(1500); ++seed) {
    std::mt19937 rng(seed);
    Instance instance = test::RandomInstance(rng);
    const std::vector<uint32_t> expected = instance.RunReference();
    AttentionForwardExecution execution;
    const Caps caps = RandomCaps(rng);
    ASSERT_EQ(expected, instance.RunOptimized(caps, &execution))
        << "seed " << seed << ", "
        << MakePlan(instance.problem, caps).value().ToString();
    Add(execution, total);
    const AttentionForwardProblem& p = instance.problem;
    ASSERT_EQ(execution.rows_fixed + execution.rows_online +
                  execution.rows_redone + execution.rows_empty,
              p.batch * p.q_heads * p.q_len);
  }
  // Every path ran, or the test above proves less than it says.
  EXPECT_GT(total.tiles_empty, test::Volume(1000));
  EXPECT_GT(total.tiles_full, test::Volume(1000));
  EXPECT_GT(total.tiles_partial, test::Volume(1000));
  EXPECT_GT(total.tiles_kept, test::Volume(1000));
  EXPECT_GT(total.rows_fixed, test::Volume(1000));
  EXPECT_GT(total.rows_online, test::Volume(1000));
  EXPECT_GT(total.rows_redone, test::Volume(1000));
  EXPECT_GT(total.rows_empty, test::Volume(1000));
}

// Of f16 tensors, with weights of eleven bits or f32's: on every target.
TEST(AttentionForward, BitsOfF16EqualTheReference) {
  AttentionForwardExecution total;
  for (uint32_t seed = 0; seed < test::Volume(600); ++seed) {
    std::mt19937 rng(seed);
    Instance instance = test::RandomInstance(rng);
    test::MakeF16(instance);
    // Weights far apart and small values: the guard of the online path.
    if (seed % 5 == 0) {
      for (float& x : instance.q) x *= 40.0f;
      for (float& x : instance.v) x *= 0x1p-12f;
    }
    const std::vector<uint32_t> expected = instance.RunReference();
    for (const std::string& target : test::RunnableTargets()) {
      Caps caps;
      caps.target = target;
      caps.tile_keys = 16 * (1 + seed % 5);
      caps.tile_rows = seed % 3 == 0 ? 3 : 0;
      AttentionForwardExecution one;
      ASSERT_EQ(expected, instance.RunOptimized(caps, &one))
          << target << ", seed " << seed;
      Add(one, total);
    }
  }
  EXPECT_GT(total.rows_fixed, test::Volume(500));
  EXPECT_GT(total.rows_online, test::Volume(500));
  EXPECT_GT(total.rows_redone, test::Volume(500));
}

TEST(AttentionForward, BitsDoNotDependOnThePlan) {
  std::mt19937 rng(7);
  Instance instance;
  AttentionForwardProblem& p = instance.problem;
  p.q_heads = 4;
  p.kv_heads = 2;
  p.q_len = 37;
  p.kv_len = 201;
  p.head_dim = 24;
  p.value_dim = 20;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  p.align.kind = Alignment::Kind::kBottomRight;
  instance.Fill(rng, 3.0f);
  const std::vector<uint32_t> expected = instance.RunReference();
  for (const std::string& target : test::RunnableTargets()) {
    for (const int64_t tile_rows : {1, 2, 3, 5, 6, 7, 8, 9, 16, 48, 74, 500}) {
      for (const int64_t tile_keys : {16, 32, 48, 64, 112, 208, 512}) {
        Caps caps;
        caps.target = target;
        caps.tile_rows = tile_rows;
        caps.tile_keys = tile_keys;
        EXPECT_EQ(expected, instance.RunOptimized(caps))
            << target << " " << tile_rows << "x" << tile_keys;
      }
    }
  }
}

// Decode: as many rows as a vector has lanes or fewer, any channels and masks.
TEST(AttentionForward, FewRowsReadKeysInPlace) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 rng(seed);
    Instance instance;
    AttentionForwardProblem& p = instance.problem;
    p.kv_heads = Draw(rng, 1, 2);
    p.q_heads = p.kv_heads * Draw(rng, 1, 4);
    p.q_len = Draw(rng, 1, 2);
    p.kv_len = Draw(rng, 1, 150);
    p.head_dim = Draw(rng, 1, 40);
    p.value_dim = Draw(rng, 1, 70);
    if (Draw(rng, 0, 1)) p.lane = Lane::kBf16;
    if (p.lane == Lane::kBf16 && Draw(rng, 0, 1)) p.p_lane = Lane::kBf16;
    if (seed % 4 == 3) test::MakeF16(instance);
    if (Draw(rng, 0, 1)) p.softcap = 20.0;
    p.sink = Draw(rng, 0, 3) == 0;
    if (Draw(rng, 0, 1)) {
      p.masks[0].kind = MaskExpr::Kind::kWindow;
      p.masks[0].left = Draw(rng, 0, 80);
      p.masks[0].right = Draw(rng, 0, 40);
      p.align.kind = Alignment::Kind::kBottomRight;
    }
    // Large values now and then: the online guard fails, rows are redone.
    instance.Fill(rng, Draw(rng, 0, 3) ? 1.0f : 40.0f);
    const std::vector<uint32_t> expected = instance.RunReference();
    for (const std::string& target : test::RunnableTargets()) {
      Caps caps;
      caps.target = target;
      caps.native_dot = false;
      caps.tile_keys = 16 * Draw(rng, 1, 6);
      AttentionForwardExecution ran;
      ASSERT_EQ(expected, instance.RunOptimized(caps, &ran))
          << target << ", seed " << seed;
      EXPECT_EQ(ran.tiles_in_place, ran.tiles_full + ran.tiles_partial);
      // Two row tiles share what is packed.
      if (p.q_heads * p.q_len == p.kv_heads) continue;
      caps.tile_rows = 1;
      ASSERT_EQ(expected, instance.RunOptimized(caps, &ran));
      EXPECT_EQ(ran.tiles_in_place, 0);
    }
  }
}

TEST(AttentionForward, CausalRowsSkipTheTilesAhead) {
  std::mt19937 rng(1);
  Instance instance;
  AttentionForwardProblem& p = instance.problem;
  p.q_len = p.kv_len = 128;
  p.head_dim = p.value_dim = 8;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  instance.Fill(rng);
  Caps caps;
  caps.tile_rows = 16;
  caps.tile_keys = 16;
  AttentionForwardExecution execution;
  (void)instance.RunOptimized(caps, &execution);
  EXPECT_EQ(execution.tiles_partial, 8);
  EXPECT_EQ(execution.tiles_full, 28);
  EXPECT_EQ(execution.tiles_empty, 28);
}

// Documents of these lengths in one row, then padding of NaN.
Instance Packed(const std::vector<int64_t>& documents, Lane lane) {
  Instance t;
  AttentionForwardProblem& p = t.problem;
  p.q_heads = p.kv_heads = 2;
  p.q_len = p.kv_len = 56;
  p.head_dim = p.value_dim = 8;
  p.lane = lane;
  p.softcap = 5;
  p.segments = true;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  std::mt19937 rng(7);
  t.Fill(rng);
  t.q_seg.clear();
  for (size_t d = 0; d < documents.size(); ++d) {
    t.q_seg.insert(t.q_seg.end(), static_cast<size_t>(documents[d]),
                   static_cast<int32_t>(d));
  }
  const size_t used = t.q_seg.size();
  t.q_seg.resize(56, -1);
  t.kv_seg = t.q_seg;
  std::replace(t.kv_seg.begin(), t.kv_seg.end(), -1, -2);
  for (std::vector<float>* x : {&t.q, &t.k, &t.v}) {
    for (size_t row = 0; row < x->size() / 8; ++row) {
      if (row % 56 < used) continue;
      std::fill_n(x->begin() + static_cast<int64_t>(row * 8), 8, std::nanf(""));
    }
  }
  return t;
}

// Neither the chains of N11 nor their fold depend on where a document stands,
// nor on what other documents and padding hold.
TEST(AttentionForward, ADocumentAloneHasTheSameBits) {
  const std::vector<int64_t> rows[] = {
      {16, 16, 7},        // aligned, of one length
      {1, 15, 17, 3, 3},  // borders at 1, one before and one behind 16
      {5, 45},            // one over several stripes, not from a border
      {50},               // one document over several tiles
  };
  for (const auto& documents : rows) {
    for (const Lane lane : {Lane::kF32, Lane::kBf16, Lane::kF16}) {
      Instance row = Packed(documents, lane);
      const std::vector<uint32_t> all = row.RunReference();
      ASSERT_EQ(row.RunOptimized(), all);
      int64_t first = 0;
      for (const int64_t n : documents) {
        Instance alone;
        alone.problem = row.problem;
        alone.problem.q_len = alone.problem.kv_len = n;
        alone.q_seg.assign(static_cast<size_t>(n), 0);
        alone.kv_seg = alone.q_seg;
        std::vector<uint32_t> expected, lse;
        for (int64_t h = 0; h < 2; ++h) {
          const int64_t at = h * 56 + first;
          const auto cut = [&](const auto& from, int64_t width, auto* to) {
            to->insert(to->end(), from.begin() + at * width,
                       from.begin() + (at + n) * width);
          };
          cut(row.q, 8, &alone.q);
          cut(row.k, 8, &alone.k);
          cut(row.v, 8, &alone.v);
          cut(all, 8, &expected);
          cut(std::vector(all.begin() + 2 * 56 * 8, all.end()), 1, &lse);
        }
        expected.insert(expected.end(), lse.begin(), lse.end());
        EXPECT_EQ(alone.RunReference(), expected) << n << " from " << first;
        EXPECT_EQ(alone.RunOptimized(), expected) << n << " from " << first;
        first += n;
      }
    }
  }
}

TEST(AttentionForward, RefusesAPlanOfAnotherProblem) {
  std::mt19937 rng(1);
  Instance instance;
  instance.problem.q_len = instance.problem.kv_len = 64;
  instance.Fill(rng);
  Plan plan = MakePlan(instance.problem, {}).value();
  plan.key_tiles = 0;
  test::Outputs outputs(instance.problem);
  const Status status = AttentionForward(instance.problem, instance.Inputs(),
                                         plan, outputs.View(), nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("does not cover"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::optimized
