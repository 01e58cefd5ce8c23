// States of parts (N24): every target has the reference's bits, and the joined
// states have the bits of split=N.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "reference/attention_forward.h"
#include "reference/attention_states.h"
#include "reference/contract/attention_states.h"
#include "reference/mask.h"
#include "tests/support/order_problem.h"
#include "tests/support/runnable_targets.h"
#include "tests/support/volume.h"

namespace lockstep::optimized {
namespace {

using test::Draw;
using test::Instance;
using test::Outputs;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kPoison = -77.0f;

struct States {
  explicit States(const AttentionForwardProblem& p)
      : rows{p.batch, p.q_heads, p.q_len},
        m(static_cast<size_t>(p.batch * p.q_heads * p.q_len), kPoison),
        l(m.size(), kPoison),
        acc(m.size() * static_cast<size_t>(p.value_dim), kPoison),
        values(p.value_dim) {}
  AttentionStates View() {
    const std::array<int64_t, 4> shape{rows[0], rows[1], rows[2], values};
    return {{m.data(), rows, DenseStrides(rows)},
            {l.data(), rows, DenseStrides(rows)},
            {acc.data(), shape, DenseStrides(shape)}};
  }
  std::vector<uint32_t> Bits() const {
    std::vector<uint32_t> bits;
    for (const auto* values_of : {&m, &l, &acc}) {
      for (const float x : *values_of) {
        bits.push_back(std::bit_cast<uint32_t>(x));
      }
    }
    return bits;
  }

  std::array<int64_t, 3> rows;
  std::vector<float> m, l, acc;
  int64_t values;
};

// A problem whose mask is dense, so that its keys can be cut anywhere.
struct WrittenOut {
  explicit WrittenOut(Instance& t) : whole(t.problem), inputs(t.Inputs()) {
    const std::array<int64_t, 4> shape{whole.batch, whole.q_heads, whole.q_len,
                                       whole.kv_len};
    for (int64_t b = 0; b < shape[0]; ++b) {
      for (int64_t h = 0; h < shape[1]; ++h) {
        for (int64_t i = 0; i < shape[2]; ++i) {
          for (int64_t j = 0; j < shape[3]; ++j) {
            seen.push_back(reference::IsVisible(t.problem, inputs, b, h, i, j));
          }
        }
      }
    }
    MaskExpr mask;
    mask.kind = MaskExpr::Kind::kDense;
    whole.masks = {mask};
    whole.segments = false;
    whole.align = {};
    inputs.q_seg = inputs.kv_seg = {};
    inputs.valid_q.clear();
    inputs.valid_kv.clear();
    inputs.dense_masks = {{seen.data(), shape, DenseStrides(shape)}};
  }

  AttentionForwardProblem PartOf(int64_t part) const {
    AttentionForwardProblem p = whole;
    p.kv_len =
        std::min(whole.part_width(), whole.kv_len - part * whole.part_width());
    p.split = 1;
    return p;
  }
  AttentionForwardInputs InputsOf(int64_t part) const {
    AttentionForwardInputs in = inputs;
    const int64_t first = part * whole.part_width();
    const int64_t bytes = whole.lane == Lane::kF32 ? 4 : 2;
    const int64_t count = PartOf(part).kv_len;
    for (LaneView* x : {&in.k, &in.v}) {
      x->shape[2] = count;
      x->data =
          static_cast<const char*>(x->data) + first * x->strides[2] * bytes;
    }
    in.dense_masks[0].shape[3] = count;
    in.dense_masks[0].data += first;
    return in;
  }

  AttentionForwardProblem whole;
  AttentionForwardInputs inputs;
  std::vector<uint8_t> seen;
};

struct Counts {
  int64_t unseen = 0, nan = 0, redone = 0, fixed = 0, online = 0, small = 0;
};

// The reference's states of a part; every target has to return the same.
States StatesOf(const WrittenOut& t, int64_t part, WeightSize size,
                std::mt19937& rng, Counts* counts) {
  const AttentionForwardProblem p = t.PartOf(part);
  const AttentionForwardInputs inputs = t.InputsOf(part);
  States expected(p);
  EXPECT_TRUE(
      reference::AttentionForwardStates(p, inputs, size, expected.View()).ok());
  for (const float l : expected.l) {
    counts->unseen += l == -kInfinity;
    counts->nan += std::isnan(l);
  }
  for (const std::string& target : test::RunnableTargets()) {
    Caps caps;
    caps.target = target;
    caps.threads = static_cast<int>(Draw(rng, 1, 2));
    if (Draw(rng, 0, 1)) caps.tile_rows = Draw(rng, 1, 80);
    if (Draw(rng, 0, 1)) caps.tile_keys = 16 * Draw(rng, 1, 8);
    if (Draw(rng, 0, 1)) caps.flush = Draw(rng, 0, 1) == 1;
    States own(p);
    AttentionForwardExecution ran;
    const Status status = AttentionForwardStates(
        p, inputs, size, MakePlan(p, caps).value(), own.View(), &ran);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(expected.Bits(), own.Bits()) << target << " part " << part;
    counts->redone += ran.rows_redone;
    counts->fixed += ran.rows_fixed;
    counts->online += ran.rows_online;
  }
  return expected;
}

TEST(AttentionStates, HaveTheBitsOfSplit) {
  Counts counts;
  for (uint32_t seed = 0; seed < test::Volume(200); ++seed) {
    std::mt19937 rng(seed);
    Instance drawn = test::RandomParts(rng);
    // A block of order=amx must not lie in two parts (N20).
    if (drawn.problem.part_width() % kProductBlock != 0 &&
        drawn.problem.order == ProductOrder::kAmx) {
      drawn.problem.order = ProductOrder::kChain;
    }
    const std::vector<uint32_t> expected = drawn.RunReference();
    const WrittenOut t(drawn);
    std::vector<States> parts, small;
    for (int64_t s = 0; s < t.whole.parts(); ++s) {
      parts.push_back(StatesOf(t, s, WeightSize::kUsual, rng, &counts));
      small.push_back(StatesOf(t, s, WeightSize::kSmall, rng, &counts));
    }
    std::vector<AttentionStates> usual_views, small_views;
    for (States& one : parts) usual_views.push_back(one.View());
    for (States& one : small) small_views.push_back(one.View());

    Outputs joined(t.whole);
    const auto sink = t.inputs.sink;
    const Result<bool> missing =
        reference::JoinStates(t.whole, sink, usual_views, {}, joined.View());
    ASSERT_TRUE(missing.ok()) << missing.message();
    counts.small += missing.value();
    if (!missing.value()) {
      ASSERT_EQ(joined.Bits(), expected) << "seed " << seed;
    }
    Outputs again(t.whole);
    ASSERT_FALSE(reference::JoinStates(t.whole, sink, usual_views, small_views,
                                       again.View())
                     .value());
    ASSERT_EQ(again.Bits(), expected) << "seed " << seed;
  }
  // Every path has to run, or the loop above proves less than it says.
  EXPECT_GT(counts.unseen, test::Volume(1000));
  EXPECT_GT(counts.nan, test::Volume(100));
  EXPECT_GT(counts.redone, test::Volume(1000));
  EXPECT_GT(counts.fixed, test::Volume(1000));
  EXPECT_GT(counts.online, test::Volume(1000));
  EXPECT_GT(counts.small, 0);
}

// If one part has scores of -inf alone, its state still joins the others. If
// all parts do, the row is NaN (N13).
TEST(AttentionStates, ScoresOfMinusInfinityAlone) {
  for (const bool everywhere : {false, true}) {
    std::vector<float> u(64, everywhere ? -kInfinity : 1.0f);
    for (size_t j = 0; j < 32; ++j) u[j] = -kInfinity;
    Instance drawn = test::RowsOfScores(ProductOrder::kChain, u,
                                        std::vector<float>(64, 1.5f));
    drawn.problem.lane = drawn.problem.p_lane = Lane::kF32;
    drawn.problem.split = 2;
    const std::vector<uint32_t> expected = drawn.RunReference();
    const WrittenOut t(drawn);
    std::mt19937 rng(1);
    Counts counts;
    States first = StatesOf(t, 0, WeightSize::kUsual, rng, &counts);
    States second = StatesOf(t, 1, WeightSize::kUsual, rng, &counts);
    EXPECT_EQ(first.m[0], -kInfinity);
    EXPECT_EQ(first.l[0], 0.0f);
    const AttentionStates parts[] = {first.View(), second.View()};
    Outputs joined(t.whole);
    ASSERT_TRUE(
        reference::JoinStates(t.whole, {}, parts, {}, joined.View()).ok());
    EXPECT_EQ(joined.Bits(), expected);
    EXPECT_EQ(std::isnan(joined.lse[0]), everywhere);
  }
}

// N20 treats a subnormal value as zero. The form without flushing computes rows
// that meet one by the contract's own steps.
TEST(AttentionStates, GuardedBlocks) {
  Instance t =
      test::RowsOfScores(ProductOrder::kAmx, std::vector<float>(32, 0.0f),
                         std::vector<float>(32, 0x1p-127f));
  States expected(t.problem);
  ASSERT_TRUE(reference::AttentionForwardStates(
                  t.problem, t.Inputs(), WeightSize::kUsual, expected.View())
                  .ok());
  EXPECT_EQ(expected.acc[0], 0.0f);
  for (const std::string& target : test::RunnableTargets()) {
    Caps caps;
    caps.target = target;
    caps.native_dot = caps.flush = false;
    States own(t.problem);
    AttentionForwardExecution ran;
    ASSERT_TRUE(AttentionForwardStates(
                    t.problem, t.Inputs(), WeightSize::kUsual,
                    MakePlan(t.problem, caps).value(), own.View(), &ran)
                    .ok());
    EXPECT_EQ(expected.Bits(), own.Bits()) << target;
    EXPECT_EQ(ran.rows_redone, 4) << target;
  }
}

TEST(AttentionStates, RefusesWhatIsNoPart) {
  Instance t =
      test::RowsOfScores(ProductOrder::kChain, std::vector<float>(64, 0.0f),
                         std::vector<float>(64, 1.0f));
  States states(t.problem);
  const Plan plan = MakePlan(t.problem, {}).value();
  const auto refused = [&](const AttentionStates& to) {
    const Status status = reference::AttentionForwardStates(
        t.problem, t.Inputs(), WeightSize::kUsual, to);
    EXPECT_EQ(AttentionForwardStates(t.problem, t.Inputs(), WeightSize::kUsual,
                                     plan, to, nullptr)
                  .message(),
              status.message());
    return status.message();
  };
  AttentionStates to = states.View();
  to.m.shape[2] = 3;
  EXPECT_EQ(refused(to), "m is missing or has shape [1,1,3]; want [1,1,4]");
  t.problem.split = 2;
  EXPECT_EQ(refused(states.View()),
            "split=2: a state is of one part of the keys; want split=1");
  EXPECT_EQ(states.m[0], kPoison);

  t.problem.split = 1;
  Outputs outputs(t.problem);
  const AttentionStates one[] = {states.View()};
  const AttentionStates two[] = {states.View(), states.View()};
  EXPECT_EQ(
      reference::JoinStates(t.problem, {}, two, one, outputs.View()).message(),
      "there are 1 states with small weights; want none, or one for each of 2 "
      "parts");
}

}  // namespace
}  // namespace lockstep::optimized
