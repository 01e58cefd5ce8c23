// The promise: the same bits as the reference for every target, tile size and
// thread count, dense and from tiles planned before.
#include "optimized/attention_backward.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/plan.h"
#include "optimized/sparse_plan.h"
#include "tests/support/attention_backward_problem.h"
#include "tests/support/runnable_targets.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::BackwardInstance;
using test::Draw;
using test::Gradients;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

Caps RandomCaps(std::mt19937& rng) {
  Caps caps;
  const std::vector<std::string> usable = test::RunnableTargets();
  caps.target = usable[static_cast<size_t>(
      Draw(rng, 0, static_cast<int64_t>(usable.size()) - 1))];
  caps.threads = static_cast<int>(Draw(rng, 1, 3));
  if (Draw(rng, 0, 1)) caps.tile_rows = Draw(rng, 1, 80);
  if (Draw(rng, 0, 1)) caps.tile_keys = 16 * Draw(rng, 1, 6);
  return caps;
}

// Problems to try; LOCKSTEP_BACKWARD_PROBLEMS asks for more.
uint32_t Problems() {
  const char* asked = std::getenv("LOCKSTEP_BACKWARD_PROBLEMS");
  return asked ? static_cast<uint32_t>(std::strtoul(asked, nullptr, 10))
               : test::Volume(1500);
}

TEST(AttentionBackward, BitsOfF16EqualTheReference) {
  for (uint32_t seed = 0; seed < test::Volume(300); ++seed) {
    std::mt19937 rng(seed);
    BackwardInstance t = test::RandomBackward(rng, seed % 4 == 0);
    const bool f32 = t.grad_lane == Lane::kF32;
    test::MakeF16(t.forward);
    if (!f32) t.grad_lane = Lane::kF16;
    t.Fill(rng);
    const std::vector<uint32_t> expected = t.RunReference().Bits();
    const Caps caps = RandomCaps(rng);
    ASSERT_EQ(expected, t.RunOptimized(caps).Bits())
        << "seed " << seed << ", "
        << MakePlan(t.Problem(), caps).value().ToString();
  }
}

TEST(AttentionBackward, BitsEqualTheReferenceOnRandomProblems) {
  AttentionBackwardExecution total;
  int64_t tiny = 0;
  for (uint32_t seed = 0; seed < Problems(); ++seed) {
    std::mt19937 rng(seed);
    BackwardInstance t = test::RandomBackward(rng);
    const std::vector<uint32_t> expected = t.RunReference().Bits();
    AttentionBackwardExecution one;
    const Caps caps = RandomCaps(rng);
    ASSERT_EQ(expected, t.RunOptimized(caps, &one).Bits())
        << "seed " << seed << ", "
        << MakePlan(t.Problem(), caps).value().ToString();
    total.tiles_full += one.tiles_full;
    total.tiles_partial += one.tiles_partial;
    total.tiles_by_pair += one.tiles_by_pair;
    tiny += one.tiles_full + one.tiles_partial == 0;
  }
  // Every path ran, or the test above proves less than it says.
  EXPECT_GT(total.tiles_full, test::Volume(300));
  EXPECT_GT(total.tiles_partial, test::Volume(1000));
  EXPECT_GT(total.tiles_by_pair, test::Volume(100));
  EXPECT_GT(tiny, test::Volume(10));
}

// Three heads of one key head, so that every chain crosses heads and tiles.
BackwardInstance SomeProblem() {
  BackwardInstance t;
  AttentionForwardProblem& p = t.forward.problem;
  p.batch = 2;
  p.q_heads = 6;
  p.kv_heads = 2;
  p.q_len = 37;
  p.kv_len = 201;
  p.head_dim = 24;
  p.value_dim = 20;
  p.softcap = 5.0;
  p.sink = true;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  p.align.kind = Alignment::Kind::kBottomRight;
  t.has_dlse = true;
  std::mt19937 rng(7);
  t.forward.Fill(rng, 3.0f);
  t.Fill(rng);
  return t;
}

TEST(AttentionBackward, BitsDoNotDependOnThePlan) {
  BackwardInstance t = SomeProblem();
  const std::vector<uint32_t> expected = t.RunReference().Bits();
  for (const std::string& target : test::RunnableTargets()) {
    for (const int64_t tile_rows : {1, 2, 5, 6, 7, 8, 9, 16, 48, 74, 500}) {
      for (const int64_t tile_keys : {16, 32, 48, 64, 112, 208, 512}) {
        Caps caps;
        caps.target = target;
        caps.tile_rows = tile_rows;
        caps.tile_keys = tile_keys;
        caps.threads = 1 + static_cast<int>(tile_rows + tile_keys) % 3;
        ASSERT_EQ(expected, t.RunOptimized(caps).Bits())
            << target << " " << tile_rows << "x" << tile_keys << " on "
            << caps.threads;
      }
    }
  }
}

// Weights and gradients of scores on both sides of the least normal number.
TEST(AttentionBackward, SharpRowsHaveTheReferencesBits) {
  for (const bool capped : {true, false}) {
    BackwardInstance t = SomeProblem();
    t.forward.problem.softcap.reset();
    if (capped) t.forward.problem.softcap = 120.0;
    std::mt19937 rng(8);
    t.forward.Fill(rng, 9.0f);
    t.Fill(rng, 0x1p-12f);
    const std::vector<uint32_t> expected = t.RunReference().Bits();
    for (const std::string& target : test::RunnableTargets()) {
      Caps caps;
      caps.target = target;
      ASSERT_EQ(expected, t.RunOptimized(caps).Bits()) << target << capped;
    }
  }
}

// The chains of one head pass from key tile to key tile, which are on as many
// threads as there are: any order of their taking gives the same bits.
TEST(AttentionBackward, BitsDoNotDependOnThreads) {
  BackwardInstance t = SomeProblem();
  const std::vector<uint32_t> expected = t.RunReference().Bits();
  for (int threads = 1; threads <= 8; ++threads) {
    for (int again = 0; again < 5; ++again) {
      Caps caps;
      caps.threads = threads;
      caps.tile_keys = 16;
      caps.tile_rows = 3;
      AttentionBackwardExecution execution;
      ASSERT_EQ(expected, t.RunOptimized(caps, &execution).Bits()) << threads;
      EXPECT_GE(execution.threads, 1);
      EXPECT_LE(execution.threads, threads);
    }
  }
}

// From stored element masks, the problem's own mask is not read; tiles of
// queries need not be the plan's.
TEST(AttentionBackward, StoredTilesAreTheMask) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 rng(seed);
    BackwardInstance t = test::RandomBackward(rng);
    const Gradients expected = t.RunReference();
    const AttentionBackwardInputs in = t.Inputs();
    const Caps caps = RandomCaps(rng);
    SparsePlan sparse{MakePlan(t.Problem(), caps).value(), {}};
    TileOptions options;
    options.tile_q = Draw(rng, 1, 60);
    options.tile_k = sparse.plan.tile_keys;
    const AttentionForwardProblem& p = t.forward.problem;
    for (int64_t b = 0; b < p.batch; ++b) {
      const Result<TilePlan> tiles = PlanTiles(p, in.forward, b, options);
      ASSERT_TRUE(tiles.ok()) << tiles.message();
      sparse.tiles.push_back(tiles.value());
    }
    AttentionBackwardProblem other = t.Problem();
    other.forward.masks.clear();  // would be refused if it were asked for
    Gradients got(t.Problem());
    const Status status =
        AttentionBackward(other, in, sparse, got.View(), nullptr);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(expected.Bits(), got.Bits()) << seed;
  }
}

// A masked pair beside a factor that is not finite: its weight of zero would
// make NaN of it.
TEST(AttentionBackward, MaskedPairsAreLeftOutBesideWhatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::string& target : test::RunnableTargets()) {
    for (int which = 0; which < 3; ++which) {
      BackwardInstance t = SomeProblem();
      // Seen by the last queries only, seen by all, and in a full row.
      float* const spoilt[] = {&t.forward.k[195 * 24 + 3], &t.d_o[5 * 20 + 1],
                               &t.forward.q[9 * 24]};
      *spoilt[which] = kInfinity;
      Caps caps;
      caps.target = target;
      AttentionBackwardExecution execution;
      const Gradients got = t.RunOptimized(caps, &execution);
      ASSERT_EQ(t.RunReference().Bits(), got.Bits()) << target << which;
      EXPECT_GT(execution.tiles_by_pair, 0) << target << which;
    }
  }
}

// Outputs of any layout without overlap, inputs that broadcast.
TEST(AttentionBackward, StridesAreTheCallersOwn) {
  BackwardInstance t = SomeProblem();
  const Gradients expected = t.RunReference();
  const AttentionForwardProblem& p = t.forward.problem;
  Gradients got(t.Problem());
  AttentionBackwardOutputs out = got.View();
  // [batch, position, head, channel] with channels apart.
  const auto spread = [](MutableLaneView& view, std::vector<uint32_t>& data) {
    data.assign(data.size() * 2, 0);
    view.data = data.data();
    view.strides = {view.strides[0] * 2, view.shape[3] * 2,
                    view.shape[3] * view.shape[1] * 2, 2};
  };
  spread(out.dq, got.dq);
  spread(out.dk, got.dk);
  spread(out.dv, got.dv);
  AttentionBackwardInputs in = t.Inputs();
  const Status status = AttentionBackward(
      t.Problem(), in, MakePlan(t.Problem(), {}).value(), out, nullptr);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto view = out.dq.As<uint32_t>();
  size_t at = 0;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        for (int64_t c = 0; c < p.head_dim; ++c) {
          ASSERT_EQ(view(b, h, i, c), expected.dq[at++]);
        }
      }
    }
  }
}

TEST(AttentionBackward, RefusesPlansThatAreNotItsOwn) {
  BackwardInstance t = SomeProblem();
  const AttentionBackwardInputs in = t.Inputs();
  const Plan good = MakePlan(t.Problem(), {}).value();
  const auto run = [&](const Plan& plan) {
    Gradients got(t.Problem());
    const std::vector<uint32_t> before = got.Bits();
    const Status status =
        AttentionBackward(t.Problem(), in, plan, got.View(), nullptr);
    if (!status.ok()) {
      EXPECT_EQ(got.Bits(), before);
    }
    return status.ok() ? "" : status.message();
  };
  EXPECT_EQ(run(good), "");
  Plan bad = good;
  bad.key_tiles = 7;
  EXPECT_NE(run(bad).find("does not cover the problem"), std::string::npos);
  bad = good;
  bad.threads = 0;
  EXPECT_NE(run(bad).find("no team of 0 threads"), std::string::npos);
  bad = good;
  bad.target = "AVX9";
  EXPECT_NE(run(bad).find("target AVX9 is not supported"), std::string::npos);
  bad = MakePlan(t.forward.problem, {}).value();
  EXPECT_NE(run(bad).find("not one of a backward pass"), std::string::npos);
  AttentionBackwardProblem amx = t.Problem();
  amx.forward.lane = amx.forward.p_lane = Lane::kBf16;
  amx.forward.order = ProductOrder::kAmx;
  EXPECT_NE(MakePlan(amx, {}).message().find("no backward pass"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::optimized
