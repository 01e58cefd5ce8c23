// The definition against numbers worked out elsewhere, and rule by rule.
#include "reference/attention_backward.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/numerics.h"
#include "reference/elementary.h"
#include "tests/support/attention_backward_problem.h"

namespace lockstep::reference {
namespace {

using test::BackwardInstance;
using test::Gradients;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

float F32(uint32_t bits) { return std::bit_cast<float>(bits); }

// Two queries, two keys, causal.
BackwardInstance TwoByTwo() {
  BackwardInstance t;
  AttentionForwardProblem& p = t.forward.problem;
  p.q_len = p.kv_len = p.head_dim = p.value_dim = 2;
  p.scale = 0.5;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  t.forward.q = {1, 2, 3, -1};
  t.forward.k = {2, 1, -1, 4};
  t.forward.v = {1, 10, 100, 1000};
  return t;
}

// o and lse of the problem as it is now; then the cotangents.
void Prepare(BackwardInstance& t) {
  std::mt19937 rng(1);
  t.Fill(rng);
  t.d_o = {1, -2, 0.5f, 0.25f};
  t.dlse = {0.5f, -1.0f};
}

// `count` queries and keys of one channel, everything 1, all visible or each
// query its own key only.
BackwardInstance Ones(int64_t count, bool diagonal) {
  BackwardInstance t;
  AttentionForwardProblem& p = t.forward.problem;
  p.q_len = p.kv_len = count;
  if (diagonal) {
    p.masks[0].kind = MaskExpr::Kind::kWindow;
    p.masks[0].left = p.masks[0].right = 0;
  }
  const auto n = static_cast<size_t>(count);
  t.forward.q = t.forward.k = t.forward.v = std::vector<float>(n, 1.0f);
  std::mt19937 rng(1);
  t.Fill(rng);
  return t;
}

void ExpectNear(BackwardInstance& t, const std::vector<double>& expected) {
  const std::vector<uint32_t> bits = t.RunReference().Bits();
  ASSERT_EQ(bits.size(), expected.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(F32(bits[i])), expected[i], 1e-4)
        << "element " << i;
  }
}

// By central differences of the real-number formula, in binary64.
TEST(AttentionBackwardReference, WorkedExample) {
  BackwardInstance t = TwoByTwo();
  Prepare(t);
  ExpectNear(t, {0, 0, -1.0988299, 1.0988299, -1.0988299, 0.3662766, 1.0988299,
                 -0.3662766, 1.4987637, -1.7506182, 0.0012363, 0.0006182});
  t.forward.problem.softcap = 2.0;
  Prepare(t);
  ExpectNear(t, {0, 0, -2.6449913, 0.6854498, -3.2981718, 1.0993906, 1.3386303,
                 -0.4462101, 1.4864311, -1.7567844, 0.0135689, 0.0067844});
  t.forward.problem.sink = true;
  t.forward.sink = {0.25f};
  t.has_dlse = true;
  Prepare(t);
  ExpectNear(t, {-1.199455, -0.5997275, -1.9180481, 0.6807923, -2.9301941,
                 -0.4226328, 1.0932109, -0.3644036, 1.1770858, -1.3646772,
                 0.0110407, 0.0055203, 1.4929393});
}

TEST(AttentionBackwardReference, MaskedTensorsAreNeverRead) {
  BackwardInstance t = TwoByTwo();
  t.forward.problem.align = {Alignment::Kind::kOffset, -1};
  Prepare(t);  // query 0 sees nothing, query 1 sees key 0
  const Gradients clean = t.RunReference();
  EXPECT_EQ(clean.dq[0], 0u);
  EXPECT_EQ(clean.dk[2], 0u);
  EXPECT_EQ(clean.dv[3], 0u);
  for (const float x : {kNaN, kInfinity}) {
    t.forward.q[0] = t.forward.k[2] = t.forward.v[3] = x;
    t.d_o[0] = t.o[1] = x;
    EXPECT_EQ(t.RunReference().Bits(), clean.Bits());
  }
}

// Query 0 sees nothing: its lse is the sink, which takes all of dlse.
TEST(AttentionBackwardReference, EmptyRowGivesToTheSinkOnly) {
  BackwardInstance t = TwoByTwo();
  t.forward.problem.align = {Alignment::Kind::kOffset, -2};
  t.forward.problem.sink = true;
  t.forward.sink = {3.0f};
  Prepare(t);
  EXPECT_EQ(t.RunReference().dsink[0], 0.0f);
  t.has_dlse = true;
  t.o[0] = kNaN;
  const Gradients g = t.RunReference();
  EXPECT_NEAR(g.dsink[0], t.dlse[0] + t.dlse[1], 1e-6f);
  for (const auto* x : {&g.dq, &g.dk, &g.dv}) {
    for (const uint32_t bits : *x) EXPECT_EQ(bits, 0u);
  }
  t.forward.sink = {-kInfinity};  // lse = -inf: no term
  Prepare(t);
  EXPECT_EQ(t.RunReference().dsink[0], 0.0f);
}

TEST(AttentionBackwardReference, RowsWithoutALogSumExp) {
  BackwardInstance t = TwoByTwo();
  t.forward.problem.sink = true;
  t.forward.sink = {0.5f};
  Prepare(t);
  const Gradients clean = t.RunReference();
  t.lse[1] = -kInfinity;  // as if query 1 were not there
  Gradients g = t.RunReference();
  EXPECT_EQ(g.dq[2], 0u);
  EXPECT_EQ(g.dv[2], 0u);
  EXPECT_EQ(g.dq[0], clean.dq[0]);
  EXPECT_NE(g.dsink[0], clean.dsink[0]);
  EXPECT_TRUE(std::isfinite(g.dsink[0]));
  for (const float lse : {kInfinity, kNaN, -kNaN}) {
    t.lse = {clean.problem.forward.sink ? t.lse[0] : 0, lse};
    g = t.RunReference();
    for (const auto* x : {&g.dk, &g.dv}) {
      for (const uint32_t bits : *x) EXPECT_EQ(bits, kCanonicalNaNBits);
    }
    EXPECT_EQ(g.dq[0], clean.dq[0]);
    EXPECT_EQ(g.dq[2], kCanonicalNaNBits);
    EXPECT_EQ(std::bit_cast<uint32_t>(g.dsink[0]), kCanonicalNaNBits);
  }
}

// Scores of 0 and an lse that puts the weights next to the least normal number.
TEST(AttentionBackwardReference, WhatIsSubnormalIsZero) {
  BackwardInstance t = TwoByTwo();
  t.forward.q.assign(t.forward.q.size(), 0.0f);
  Prepare(t);
  constexpr float kLog2 = 0.693147182f;
  t.lse.assign(t.lse.size(), 126.01f * kLog2);
  for (const uint32_t bits : t.RunReference().Bits()) EXPECT_EQ(bits, 0u);
  t.lse.assign(t.lse.size(), 125.9f * kLog2);
  const Gradients kept = t.RunReference();
  EXPECT_NE(kept.dv[0], 0u);
  EXPECT_NE(kept.dq[2], 0u);
  // The gradients of the scores become subnormal, the weights do not.
  for (float& x : t.forward.v) x *= 0x1p-10f;
  for (float& x : t.o) x *= 0x1p-10f;
  const Gradients g = t.RunReference();
  EXPECT_EQ(g.dv, kept.dv);
  for (const uint32_t bits : g.dq) EXPECT_EQ(bits, 0u);
}

// Terms that lose their small ones in any other order.
TEST(AttentionBackwardReference, ChainsOfKeysRunOverHeadsThenQueries) {
  BackwardInstance t = Ones(2, false);
  t.forward.problem.q_heads = 2;
  t.forward.q = {1, 1, 1, 1};
  std::mt19937 rng(1);
  t.Fill(rng);
  t.forward.k = {0, 0};
  t.lse = {0, 0, 0, 0};  // every weight is 1
  // dv = ((1 + 2^25) - 2^25) + 1 in this order.
  t.d_o = {1.0f, 0x1p25f, -0x1p25f, 1.0f};
  const Gradients g = t.RunReference();
  EXPECT_EQ(F32(g.dv[0]), 1.0f);
  EXPECT_EQ(F32(g.dv[1]), 1.0f);
}

TEST(AttentionBackwardReference, ChainsOfQueriesRunOverKeys) {
  BackwardInstance t = Ones(4, false);
  t.forward.problem.q_len = 1;
  t.forward.problem.head_dim = 1;
  t.forward.q = {0.0f};
  t.forward.v = {4.0f, 4.0f, -4.0f, -4.0f};
  t.forward.k = {1.0f, 0x1p25f, 0x1p25f, -1.0f};
  std::mt19937 rng(1);
  t.Fill(rng);
  t.d_o = {1.0f};
  t.o = {0.0f};
  t.lse = {0.0f};
  // ds = v: dq = ((4 + 2^27) - 2^27) + 4 in this order.
  EXPECT_EQ(F32(t.RunReference().dq[0]), 4.0f);
}

TEST(AttentionBackwardReference, WeightsAreRoundedBeforeTheirProducts) {
  BackwardInstance t = Ones(1, true);
  t.forward.problem.p_lane = Lane::kBf16;
  t.d_o = {1.0f};
  t.forward.v = {4.0f};
  t.o = {1.0f};
  t.lse = {1.25f};  // p = e^(-1/4), ds = 3 p
  const float log2e = static_cast<float>(kLog2E);
  const float p = Exp2(log2e - 1.25f * log2e);
  const Gradients g = t.RunReference();
  EXPECT_NE(p, RoundToBf16Lane(p));
  EXPECT_EQ(F32(g.dv[0]), RoundToBf16Lane(p));
  EXPECT_EQ(F32(g.dk[0]), RoundToBf16Lane(p * 3.0f));
  EXPECT_EQ(F32(g.dq[0]), RoundToBf16Lane(p * 3.0f));
  EXPECT_NE(RoundToBf16Lane(p * 3.0f),
            RoundToBf16Lane(RoundToBf16Lane(p) * 3.0f));
}

TEST(AttentionBackwardReference, SaturatedSoftcapStopsScoresOnly) {
  BackwardInstance t = TwoByTwo();
  t.forward.problem.softcap = 1e-3;
  Prepare(t);
  const Gradients g = t.RunReference();
  for (const uint32_t bits : g.dq) EXPECT_EQ(bits, 0u);
  for (const uint32_t bits : g.dk) EXPECT_EQ(bits, 0u);
  EXPECT_NE(g.dv[0], 0u);
}

TEST(AttentionBackwardReference, LaneOfGradientsRoundsOnce) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 rng(seed);
    BackwardInstance t = test::RandomBackward(rng);
    t.forward.problem.lane = Lane::kBf16;
    t.grad_lane = Lane::kF32;
    const Gradients wide = t.RunReference();
    t.grad_lane = Lane::kBf16;
    const Gradients narrow = t.RunReference();
    const std::vector<uint32_t> bits = narrow.Bits();
    size_t at = 0;
    for (const auto* x : {&wide.dq, &wide.dk, &wide.dv}) {
      for (const uint32_t w : *x) {
        ASSERT_EQ(bits[at++], RoundToBf16(RoundToBf16Lane(F32(w)) + 0.0f).bits)
            << seed;
        ASSERT_NE(w, 0x80000000u) << seed;
      }
    }
  }
}

TEST(AttentionBackwardReference, PowersOfTwoScaleTheGradients) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 rng(seed);
    BackwardInstance t = test::RandomBackward(rng, false);
    t.forward.problem.p_lane = t.grad_lane = Lane::kF32;
    const Gradients one = t.RunReference();
    for (float& x : t.d_o) x *= 8.0f;
    for (float& x : t.dlse) x *= 8.0f;
    const Gradients eight = t.RunReference();
    for (size_t i = 0; i < one.dk.size(); ++i) {
      const float x = 8.0f * F32(one.dk[i]);
      // Subnormal parts of a sum may round elsewhere.
      EXPECT_NEAR(F32(eight.dk[i]), x, 1e-30f) << seed;
    }
  }
}

// Numbers in [-2, 2] from a counter, the same with every library.
void FillByCounter(std::vector<float>& x, uint32_t stream) {
  for (size_t i = 0; i < x.size(); ++i) {
    uint64_t z = (uint64_t{stream} << 32 | i) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
    x[i] = static_cast<float>(static_cast<int32_t>(z >> 32)) * 0x1p-30f;
  }
}

BackwardInstance GoldenProblem(int which) {
  BackwardInstance t;
  AttentionForwardProblem& p = t.forward.problem;
  p.batch = 2;
  p.q_heads = 4;
  p.kv_heads = 2;
  p.q_len = 9;
  p.kv_len = 21;
  p.head_dim = 8;
  p.value_dim = 12;
  p.scale = 0.375;
  p.masks[0].kind = MaskExpr::Kind::kCausal;
  p.align.kind = Alignment::Kind::kBottomRight;
  if (which & 1) p.softcap = 2.0;
  p.sink = (which & 2) != 0;
  t.has_dlse = (which & 2) != 0;
  if (which & 4) p.lane = p.p_lane = Lane::kBf16;
  if (which == 7) t.grad_lane = Lane::kBf16;
  std::mt19937 rng(1);
  t.forward.Fill(rng);
  t.forward.q_seg.clear();
  t.forward.kv_seg.clear();
  uint32_t stream = 0;
  for (auto* x : {&t.forward.q, &t.forward.k, &t.forward.v, &t.forward.sink}) {
    FillByCounter(*x, ++stream);
  }
  t.Fill(rng);
  for (auto* x : {&t.d_o, &t.dlse}) FillByCounter(*x, ++stream);
  return t;
}

// Every line of every output by itself.
std::vector<uint32_t> BitsByParts(BackwardInstance& t) {
  const AttentionBackwardProblem problem = t.Problem();
  const AttentionForwardProblem& p = problem.forward;
  const AttentionBackwardInputs in = t.Inputs();
  std::vector<uint32_t> bits, dk, dv;
  const int drop = problem.grad_lane == Lane::kBf16 ? 16 : 0;
  const auto add = [drop](const std::vector<float>& line,
                          std::vector<uint32_t>* to) {
    for (const float x : line)
      to->push_back(std::bit_cast<uint32_t>(x) >> drop);
  };
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        add(AttentionBackwardQuery(problem, in, b, h, i), &bits);
      }
    }
    for (int64_t g = 0; g < p.kv_heads; ++g) {
      for (int64_t j = 0; j < p.kv_len; ++j) {
        const KeyGradients key = AttentionBackwardKey(problem, in, b, g, j);
        add(key.dk, &dk);
        add(key.dv, &dv);
      }
    }
  }
  bits.insert(bits.end(), dk.begin(), dk.end());
  bits.insert(bits.end(), dv.begin(), dv.end());
  for (int64_t h = 0; p.sink && h < p.q_heads; ++h) {
    bits.push_back(
        std::bit_cast<uint32_t>(AttentionBackwardSink(problem, in, h)));
  }
  return bits;
}

TEST(AttentionBackwardReference, PartsAreTheWhole) {
  std::mt19937 rng(20);
  for (int n = 0; n < 300; ++n) {
    BackwardInstance t = test::RandomBackward(rng);
    EXPECT_EQ(BitsByParts(t), t.RunReference().Bits()) << n;
  }
}

uint64_t Digest(const std::vector<uint32_t>& words) {  // FNV-1a
  uint64_t digest = 0xcbf29ce484222325u;
  for (const uint32_t word : words) {
    digest = (digest ^ word) * 0x100000001b3u;
  }
  return digest;
}

// A change of any is a change of the contract's bits.
TEST(AttentionBackwardReference, GoldenDigests) {
  constexpr uint64_t kDigests[] = {0x3ad061ff78674d1bu, 0x972a4fa7737fb4d3u,
                                   0xbf558742409ca038u, 0x5aa6b7240632b3feu,
                                   0x6d4bd6c04fb646beu, 0x236995f06e9592f4u,
                                   0x180d1a539c5b63d0u, 0x1270bbf6a0ed3773u};
  for (int which = 0; which < 8; ++which) {
    BackwardInstance t = GoldenProblem(which);
    EXPECT_EQ(Digest(t.RunReference().Bits()), kDigests[which])
        << which << " " << std::hex << Digest(t.RunReference().Bits());
  }
}

}  // namespace
}  // namespace lockstep::reference
