// The definition against numbers worked out elsewhere, and clause by clause.
#include "reference/attention_forward.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/numerics.h"
#include "tests/support/attention_problem.h"

namespace lockstep::reference {
namespace {

using test::Instance;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

float F32(uint32_t bits) { return std::bit_cast<float>(bits); }

// Two queries, two keys, causal; the real-number results are exact fractions
// of exponentials, computed in binary64.
Instance TwoByTwo() {
  Instance t;
  AttentionForwardProblem& p = t.problem;
  p.q_len = p.kv_len = p.head_dim = p.value_dim = 2;
  p.scale = 0.5;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  t.q = {1, 2, 3, -1};
  t.k = {2, 1, -1, 4};
  t.v = {1, 10, 100, 1000};
  return t;
}

void ExpectNear(Instance& t, const std::vector<double>& o,
                const std::vector<double>& lse) {
  const std::vector<uint32_t> bits = t.RunReference();
  ASSERT_EQ(bits.size(), o.size() + lse.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    const double x = i < o.size() ? o[i] : lse[i - o.size()];
    const double produced = static_cast<double>(F32(bits[i]));
    EXPECT_NEAR(produced, x, std::fabs(x) * 1e-6) << "element " << i;
  }
}

TEST(AttentionForwardReference, WorkedExample) {
  Instance t = TwoByTwo();
  ExpectNear(t, {1, 10, 1.244789692506843, 12.447896925068427},
             {2, 2.5024756851377306});
  t.problem.softcap = 2.0;
  ExpectNear(t, {1, 10, 3.686633055731028, 36.86633055731027},
             {1.5231883119115297, 1.7240800156416534});
  t.problem.sink = true;
  t.sink = {0.25f};
  ExpectNear(t,
             {0.7812880457789421, 7.81288045778942, 2.9997275529628906,
              29.9972755296289},
             {1.7699996924317478, 1.9302721372707756});
}

TEST(AttentionForwardReference, EmptyRowIsZeroAndMinusInfinity) {  // N12
  Instance t = TwoByTwo();
  t.problem.align = {Alignment::Kind::kOffset, -1};  // row 0 sees nothing
  std::vector<uint32_t> bits = t.RunReference();
  EXPECT_EQ(bits[0], 0u);
  EXPECT_EQ(bits[1], 0u);
  EXPECT_EQ(F32(bits[4]), -kInfinity);
  t.problem.sink = true;
  for (const float sink : {3.0f, -500.0f, 1e6f}) {
    t.sink = {sink};
    bits = t.RunReference();
    EXPECT_EQ(bits[0], 0u);
    EXPECT_NEAR(F32(bits[4]), sink, std::fabs(sink) * 1e-6f);
  }
  t.sink = {-kInfinity};
  EXPECT_EQ(F32(t.RunReference()[4]), -kInfinity);
}

TEST(AttentionForwardReference, NaNAndInfiniteScores) {  // N13
  Instance t = TwoByTwo();
  t.k[2] = kNaN;  // key 1: visible to row 1 only
  std::vector<uint32_t> bits = t.RunReference();
  EXPECT_EQ(F32(bits[0]), 1.0f);
  EXPECT_EQ(bits[2], kCanonicalNaNBits);
  EXPECT_EQ(bits[5], kCanonicalNaNBits);
  t.k[2] = -kInfinity;  // u = -inf: weight 0
  bits = t.RunReference();
  EXPECT_EQ(F32(bits[2]), 1.0f);
  t.k[2] = kInfinity;
  EXPECT_EQ(t.RunReference()[2], kCanonicalNaNBits);
  t.problem.softcap = 2.0;  // finite again
  EXPECT_TRUE(std::isfinite(F32(t.RunReference()[2])));
}

TEST(AttentionForwardReference, AllMinusInfinityIsNaNUnlessASinkIsFinite) {
  Instance t = TwoByTwo();
  t.q = {1, 0, 1, 0};
  t.k = {-kInfinity, 0, -kInfinity, 0};
  EXPECT_EQ(t.RunReference()[0], kCanonicalNaNBits);
  t.problem.sink = true;
  t.sink = {1.0f};
  std::vector<uint32_t> bits = t.RunReference();
  EXPECT_EQ(bits[0], 0u);
  EXPECT_NEAR(F32(bits[4]), 1.0f, 1e-6f);
  t.sink = {-kInfinity};
  EXPECT_EQ(t.RunReference()[0], kCanonicalNaNBits);
}

TEST(AttentionForwardReference, MaskedKeysAreNeverRead) {  // N8
  Instance t = TwoByTwo();
  const std::vector<uint32_t> clean = t.RunReference();
  t.q.resize(2);
  t.problem.q_len = 1;
  t.k[2] = t.k[3] = t.v[2] = t.v[3] = kNaN;
  EXPECT_EQ(t.RunReference()[0], clean[0]);
}

TEST(AttentionForwardReference, VisibleWeightZeroTimesInfinityIsNaN) {  // N11
  Instance t = TwoByTwo();
  t.k = {0, 0, -3000, 0};
  t.v[2] = kInfinity;
  const std::vector<uint32_t> bits = t.RunReference();
  EXPECT_EQ(bits[2], kCanonicalNaNBits);
  EXPECT_EQ(F32(bits[3]), 10.0f);
}

TEST(AttentionForwardReference, OutputIsNeverMinusZero) {  // N11
  for (const Lane lane : {Lane::kF32, Lane::kBf16}) {
    Instance t = TwoByTwo();
    t.problem.lane = lane;
    t.v = {-0.0f, -1e-45f, -0.0f, -1e-45f};
    const std::vector<uint32_t> bits = t.RunReference();
    EXPECT_EQ(bits[0], 0u);
    if (lane == Lane::kBf16) {
      EXPECT_EQ(bits[1], 0u);  // rounded away
    }
  }
}

TEST(AttentionForwardReference, FiniteValuesGiveFiniteOutputs) {  // N9's redo
  for (const double cap : {0.0, 2.0, 50.0}) {
    Instance t = TwoByTwo();
    if (cap > 0) t.problem.softcap = cap;
    for (float& x : t.q) x *= 100.0f;
    t.v = {3e38f, -3e38f, 3e38f, -3e38f};
    const std::vector<uint32_t> bits = t.RunReference();
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(std::fabs(F32(bits[i])), 3e38f, 3e32f) << "cap " << cap;
    }
  }
}

TEST(AttentionForwardReference, BottomOfTheRangeKeepsWeights) {  // N9's shift
  // Scores 180 apart in log2: the smaller weight is 2^-180 of the larger, lost
  // without the shift of 64, and seen through a large value.
  Instance t = TwoByTwo();
  t.problem.scale = 1.0;
  t.q = {1, 0, 1, 0};
  t.k = {0, 0, -125.0f, 0};  // times log2e: -180.3
  t.v = {0, 0, 0x1p120f, 0};
  const float o = F32(t.RunReference()[2]);
  EXPECT_GT(o, 0x1p-62f);
  EXPECT_LT(o, 0x1p-59f);
}

// N22: each part has a chain of its own, and its own m. Scores are 0 before key
// 16 and `second` behind it.
TEST(AttentionForwardReference, PartsAreSummedApart) {
  Instance t;
  AttentionForwardProblem& p = t.problem;
  p.kv_len = 40;
  p.scale = std::log(2.0);
  p.q_len = p.head_dim = p.value_dim = 1;
  t.q.assign(1, 1.0f);
  t.k.assign(40, 0.0f);
  t.v.assign(40, 1.0f);
  t.v[0] = 0x1p24f;
  const auto o = [&] { return F32(t.RunReference()[0]); };
  EXPECT_EQ(o(), 0x1p24f / 40);  // in one chain every 1 is lost
  p.split = 2;                   // keys 0 to 31, 32 to 39
  EXPECT_EQ(p.part_width(), 32);
  EXPECT_EQ(o(), (0x1p24f + 8) / 40);
  p.split = 3;  // of 16
  EXPECT_EQ(o(), (0x1p24f + 24) / 40);
  // Of split=64 three are left.
  p.split = 64;
  EXPECT_EQ(p.parts(), 3);
  EXPECT_EQ(o(), (0x1p24f + 24) / 40);
  // Weights of the later parts: 1/8 of the first's, which makes 2 and 1.
  for (size_t j = 16; j < 40; ++j) t.k[j] = -3.0f;
  EXPECT_EQ(o(), (0x1p24f + 4) / 19);
  // A part that nobody sees, and a sink that weighs as much as a key.
  p.masks[0].kind = MaskExpr::Kind::kWindow;
  p.masks[0].right = kUnlimited;
  p.masks[0].left = 0;
  p.align = {Alignment::Kind::kOffset, 16};
  EXPECT_EQ(o(), 1.0f);
  p.sink = true;
  t.sink = {static_cast<float>(-3.0 * std::log(2.0))};
  EXPECT_NEAR(o(), 24.0f / 25, 1e-6f);
}

// N20 in whole rows. Scores are equal, so that weights are: o says how values
// were summed, and lse of one key how channels were.
Instance Blocks(int64_t keys, int64_t channels) {
  Instance t;
  AttentionForwardProblem& p = t.problem;
  p.lane = p.p_lane = Lane::kBf16;
  p.order = ProductOrder::kAmx;
  p.kv_len = keys;
  p.head_dim = channels;
  t.q.assign(static_cast<size_t>(channels), 0.0f);
  t.k.assign(static_cast<size_t>(keys * channels), 0.0f);
  t.v.assign(static_cast<size_t>(keys), 0.0f);
  return t;
}

float Output(Instance& t) { return F32(t.RunReference()[0] << 16); }

TEST(AttentionForwardReference, BlocksOfKeysBeginAtMultiplesOf32) {
  Instance t = Blocks(64, 1);
  t.v[0] = 0x1p40f;
  t.v[1] = 64.0f;
  t.v[30] = -0x1p40f;  // the even chain cancels before the odd one comes in
  EXPECT_EQ(Output(t), 1.0f);
  t.v[30] = 0.0f;
  t.v[32] = -0x1p40f;  // the next block: the odd chain was lost in this one
  EXPECT_EQ(Output(t), 0.0f);
  t.problem.order = ProductOrder::kChain;
  t.v[1] = 0.0f;
  t.v[40] = 64.0f;
  EXPECT_EQ(Output(t), 1.0f);
}

// Key 0 is hidden: blocks and parities stay those of the key axis, and what is
// hidden is not read.
TEST(AttentionForwardReference, BlocksCountHiddenKeys) {
  Instance t = Blocks(65, 1);
  t.problem.masks[0].kind = MaskExpr::Kind::kWindow;
  t.problem.masks[0].left = 63;
  t.problem.align = {Alignment::Kind::kOffset, 64};  // keys 1 to 64
  t.k[0] = t.v[0] = kNaN;
  t.v[2] = 0x1p40f;
  t.v[3] = 64.0f;
  t.v[30] = -0x1p40f;
  EXPECT_EQ(Output(t), 1.0f);
  t.v[30] = 0.0f;
  t.v[32] = -0x1p40f;
  EXPECT_EQ(Output(t), 0.0f);
}

TEST(AttentionForwardReference, BlocksOfChannels) {
  Instance t = Blocks(1, 64);
  for (float& x : t.q) x = 1.0f;
  t.k[0] = 0x1p40f;
  t.k[1] = 1.0f;
  t.k[30] = -0x1p40f;
  EXPECT_NEAR(F32(t.RunReference()[1]), 1.0f, 1e-6f);
  t.k[30] = 0.0f;
  t.k[32] = -0x1p40f;
  EXPECT_EQ(F32(t.RunReference()[1]), 0.0f);
}

TEST(AttentionForwardReference, BlocksFlush) {
  Instance t = Blocks(2, 1);
  t.v[0] = t.v[1] = 0x1p-127f;  // a subnormal operand
  EXPECT_EQ(Output(t), 0.0f);
  t.problem.order = ProductOrder::kChain;
  EXPECT_EQ(Output(t), 0x1p-127f);
  t = Blocks(1, 1);
  t.problem.scale = 0x1p120;
  t.q[0] = t.k[0] = 0x1p-64f;  // a subnormal product
  EXPECT_EQ(F32(t.RunReference()[1]), 0.0f);
  t.problem.order = ProductOrder::kChain;
  EXPECT_NE(F32(t.RunReference()[1]), 0.0f);
}

}  // namespace
}  // namespace lockstep::reference
