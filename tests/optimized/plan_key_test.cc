// Keys, payloads, the cache, and normal masks that mean what they meant.
#include "optimized/plan_key.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/mask_class.h"
#include "optimized/worklist.h"
#include "reference/mask.h"
#include "tests/support/attention_problem.h"
#include "tests/support/mask_problem.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::MaskProblem;

MaskExpr Causal() {
  MaskExpr mask;
  mask.kind = MaskExpr::Kind::kCausal;
  return mask;
}

MaskExpr WindowMask(int64_t left, int64_t right) {
  MaskExpr mask;
  mask.kind = MaskExpr::Kind::kWindow;
  mask.left = left;
  mask.right = right;
  return mask;
}

MaskExpr JoinMasks(MaskExpr::Kind kind, std::vector<MaskExpr> children) {
  MaskExpr mask;
  mask.kind = kind;
  mask.children = std::move(children);
  return mask;
}

// The problem of the cache tests: 64 tokens of some documents, window 20.
AttentionForwardProblem Packed() {
  AttentionForwardProblem p;
  p.q_len = p.kv_len = 64;
  p.softcap = 30;
  p.segments = true;
  p.masks = {JoinMasks(MaskExpr::Kind::kAnd, {Causal(), WindowMask(20, 0)})};
  return p;
}

TileOptions Tiles(int64_t extent) {
  TileOptions options;
  options.tile_q = options.tile_k = extent;
  return options;
}

PlanKey KeyOfPlan(const AttentionForwardProblem& p, int64_t tile = 8,
                  int64_t width = 4) {
  const Result<PlanKey> key = MakePlanKey(p, false, Tiles(tile), width, 4);
  EXPECT_TRUE(key.ok()) << key.message();
  return key.value();
}

TEST(NormalMask, MeansWhatItMeant) {
  int64_t changed = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    std::mt19937 rng(seed);
    const MaskProblem m = test::RandomMaskProblem(rng, {9, 2, 2});
    MaskProblem normal = m;
    for (MaskExpr& mask : normal.problem.masks) {
      mask = NormalMask(m.problem, mask);
    }
    changed += normal.problem.masks != m.problem.masks;
    const AttentionForwardInputs in = m.Inputs();
    const AttentionForwardProblem& p = m.problem;
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t h = 0; h < p.q_heads; ++h) {
        for (int64_t i = 0; i < p.q_len; ++i) {
          for (int64_t j = 0; j < p.kv_len; ++j) {
            ASSERT_EQ(reference::IsVisible(normal.problem, in, b, h, i, j),
                      reference::IsVisible(p, in, b, h, i, j))
                << "seed " << seed;
          }
        }
      }
    }
  }
  EXPECT_GT(changed, 5000);
}

TEST(NormalMask, SidesAreDroppedExactlyWhereNoPairReachesThem) {
  AttentionForwardProblem p;
  p.q_len = 4;
  p.kv_len = 6;
  p.align.kind = Alignment::Kind::kBottomRight;
  EXPECT_EQ(NormalMask(p, WindowMask(5, 3)), MaskExpr{});
  EXPECT_EQ(NormalMask(p, WindowMask(4, 3)), WindowMask(4, kUnlimited));
  EXPECT_EQ(NormalMask(p, WindowMask(5, 2)), WindowMask(kUnlimited, 2));
  p.align = {Alignment::Kind::kOffset, 2};
  EXPECT_EQ(NormalMask(p, WindowMask(5, 3)), MaskExpr{});
  p.align.kind = Alignment::Kind::kTopLeft;
  EXPECT_EQ(NormalMask(p, WindowMask(3, 5)), MaskExpr{});
  EXPECT_EQ(NormalMask(p, WindowMask(2, 5)), WindowMask(2, kUnlimited));
  EXPECT_EQ(NormalMask(p, WindowMask(3, 4)), WindowMask(kUnlimited, 4));
}

TEST(NormalMask, KeepsWhatIsNoSynonym) {
  AttentionForwardProblem p;
  p.q_len = p.kv_len = 8;
  // A right bound by itself, and a window of the query alone, mean something.
  EXPECT_EQ(NormalMask(p, WindowMask(kUnlimited, 0)),
            WindowMask(kUnlimited, 0));
  EXPECT_EQ(NormalMask(p, WindowMask(0, 0)), WindowMask(0, 0));
  const MaskExpr causal_window =
      JoinMasks(MaskExpr::Kind::kAnd, {Causal(), WindowMask(0, 3)});
  EXPECT_EQ(
      NormalMask(p, causal_window),
      JoinMasks(MaskExpr::Kind::kAnd, {Causal(), WindowMask(0, kUnlimited)}));
  const MaskExpr either =
      JoinMasks(MaskExpr::Kind::kOr, {Causal(), WindowMask(0, 3)});
  EXPECT_EQ(NormalMask(p, either), either);
  const MaskExpr twice =
      JoinMasks(MaskExpr::Kind::kAnd,
                {Causal(), WindowMask(3, 1), WindowMask(3, 2), Causal()});
  EXPECT_EQ(
      NormalMask(p, twice),
      JoinMasks(MaskExpr::Kind::kAnd, {Causal(), WindowMask(3, kUnlimited)}));
}

TEST(PlanKey, AThousandPayloadsHaveOneKey) {
  const AttentionForwardProblem p = Packed();
  std::set<std::vector<size_t>> shapes;
  std::set<std::vector<int32_t>> tables;
  for (uint32_t call = 0; call < 1000; ++call) {
    std::mt19937 rng(call);
    MaskProblem m;
    m.problem = p;
    int32_t id = 0;
    for (int64_t t = 0; t < 64; ++t) {
      id += Draw(rng, 0, 9) == 0;
      m.q_seg.push_back(id);
    }
    m.kv_seg = m.q_seg;
    const PlanKey key = KeyOfPlan(p);
    ASSERT_TRUE(CheckPayload(key, m.Inputs()).ok());
    EXPECT_TRUE(key == KeyOfPlan(p));
    const Result<TilePlan> plan = PlanTiles(p, m.Inputs(), 0, key.tiles);
    const Result<Worklist> work =
        MakeWorklist(plan->patterns[0].by_query, key.width);
    ASSERT_TRUE(work.ok()) << work.message();
    shapes.insert({work->data_next.size(), work->block_mask.size(),
                   work->mask_next.size()});
    tables.insert(work->block_mask);
  }
  EXPECT_EQ(shapes.size(), 1u);
  EXPECT_GT(tables.size(), 100u);  // the payloads do differ
}

TEST(PlanKey, WhateverIsStaticMakesAnotherKey) {
  const PlanKey key = KeyOfPlan(Packed());
  using Change = std::function<void(AttentionForwardProblem*)>;
  const Change changes[] = {
      [](auto* p) { p->masks[0].children[1].left = 19; },
      [](auto* p) { p->softcap = 50; },
      [](auto* p) { p->softcap.reset(); },
      [](auto* p) { p->scale = 0.5; },
      [](auto* p) { p->lane = Lane::kBf16; },
      [](auto* p) { p->p_lane = Lane::kBf16; },
      [](auto* p) { p->lane = p->p_lane = Lane::kBf16; },
      [](auto* p) {
        p->lane = p->p_lane = Lane::kBf16;
        p->order = ProductOrder::kAmx;
      },
      [](auto* p) { p->segments = false; },
      [](auto* p) { p->sink = true; },
      [](auto* p) { p->align.kind = Alignment::Kind::kBottomRight; },
      [](auto* p) { p->batch = 2; },
      [](auto* p) { p->q_heads = 2; },
      [](auto* p) { p->q_heads = p->kv_heads = 2; },
      [](auto* p) { p->q_len = 63; },
      [](auto* p) { p->kv_len = 65; },
      [](auto* p) { p->head_dim = 2; },
      [](auto* p) { p->value_dim = 2; },
  };
  std::vector<PlanKey> keys = {key};
  for (const Change& change : changes) {
    AttentionForwardProblem p = Packed();
    change(&p);
    keys.push_back(KeyOfPlan(p));
  }
  keys.push_back(KeyOfPlan(Packed(), 7));
  keys.push_back(KeyOfPlan(Packed(), 8, 5));
  PlanKey counts = key;
  counts.valid_counts = true;
  keys.push_back(counts);
  for (size_t a = 0; a < keys.size(); ++a) {
    for (size_t b = 0; b < keys.size(); ++b) {
      EXPECT_EQ(keys[a] == keys[b], a == b) << a << " and " << b;
    }
  }
}

// Requests that mean the same are one key.
TEST(PlanKey, SynonymsShareAKey) {
  AttentionForwardProblem p = Packed();
  p.masks = {JoinMasks(MaskExpr::Kind::kAnd, {Causal(), WindowMask(63, 5)})};
  AttentionForwardProblem plain = Packed();
  plain.masks = {Causal()};
  EXPECT_TRUE(KeyOfPlan(p) == KeyOfPlan(plain));
}

TEST(PlanKey, PayloadsThatAreNotTheKeysAreRefused) {
  const std::vector<int32_t> ids(64);
  const TensorView<const int32_t, 2> view{ids.data(), {1, 64}, {64, 1}};
  const PlanKey key = KeyOfPlan(Packed());
  AttentionForwardInputs in;
  EXPECT_FALSE(CheckPayload(key, in).ok());  // promised, not there
  in.q_seg = view;
  EXPECT_FALSE(CheckPayload(key, in).ok());
  in.kv_seg = view;
  EXPECT_TRUE(CheckPayload(key, in).ok());
  in.valid_q = {3};
  EXPECT_FALSE(CheckPayload(key, in).ok());  // there, not promised
  PlanKey counts = key;
  counts.valid_counts = true;
  EXPECT_FALSE(CheckPayload(counts, in).ok());
  in.valid_kv = {3};
  EXPECT_TRUE(CheckPayload(counts, in).ok());
  AttentionForwardProblem plain = Packed();
  plain.segments = false;
  in.valid_q.clear();
  in.valid_kv.clear();
  EXPECT_FALSE(CheckPayload(KeyOfPlan(plain), in).ok());
}

TEST(PlanKey, WidthsBeyondTheGridAreRefused) {
  for (const int64_t width : {int64_t{0}, int64_t{9}}) {
    EXPECT_FALSE(MakePlanKey(Packed(), false, Tiles(8), width, 1).ok());
    EXPECT_FALSE(MakePlanKey(Packed(), false, Tiles(8), 1, width).ok());
  }
}

}  // namespace
}  // namespace lockstep::optimized
