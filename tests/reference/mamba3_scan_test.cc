// The definition against numbers worked out by hand, clause by clause. Laws
// over random problems: mamba3_laws_test.cc.
#include "reference/mamba3_scan.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/numerics.h"
#include "reference/elementary.h"
#include "tests/support/mamba3_problem.h"

namespace lockstep::reference {
namespace {

using test::Mamba3Instance;
using test::Mamba3Result;
using Problem = Mamba3ScanProblem;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN32 = std::numeric_limits<float>::quiet_NaN();

uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }

// One head, two tokens, N=2, P=1, no decay, lambda = 1/2 and dt = 2, so that
// gamma = beta = 1 and everything is a small integer.
Mamba3Instance TwoTokens() {
  Mamba3Instance t;
  t.problem.length = 2;
  t.problem.state_dim = 2;
  std::mt19937 rng(1);
  t.Fill(rng, test::Regime::kTypical);
  t.tau = {0, 0};
  t.dt = {2, 2};
  t.a = {0, 0};
  t.q = {1, 10, 2, 3};
  t.k = {1, 2, 5, 7};
  t.v = {3, 4};
  t.z = {0, 0};
  return t;
}

TEST(Mamba3Reference, EachTokenEntersTwice) {  // gamma now, beta next
  const Mamba3Result got = TwoTokens().RunReference();
  // h1 = 3 (1,2); h2 = h1 + 3 (1,2) + 4 (5,7) = (26, 40)
  EXPECT_EQ(got.y, (std::vector<float>{3 + 60, 2 * 26 + 3 * 40}));
  EXPECT_EQ(got.carry.h, (std::vector<float>{26, 40}));
  EXPECT_EQ(got.carry.k, (std::vector<float>{5, 7}));
  EXPECT_EQ(got.carry.v, (std::vector<float>{4}));
}

TEST(Mamba3Reference, DecayReachesTheStateAndThePreviousToken) {
  Mamba3Instance t = TwoTokens();
  t.a = {-1, -1};  // of the first token: nothing to decay
  const float alpha = Exp(-1.0f);
  const Mamba3Result got = t.RunReference();
  EXPECT_EQ(got.y[0], 63.0f);
  const float beta = (0.5f * 2.0f) * alpha;
  EXPECT_EQ(got.carry.h[0],
            std::fma(5.0f, 4.0f, std::fma(beta, 3.0f, alpha * 3.0f)));
}

TEST(Mamba3Reference, LambdaSharesTheStepBetweenNowAndNext) {
  Mamba3Instance t = TwoTokens();
  t.tau = {kInfinity, kInfinity};  // all now
  EXPECT_EQ(t.RunReference().carry.h, (std::vector<float>{46, 68}));
  t.tau = {-kInfinity, -kInfinity};  // all next
  EXPECT_EQ(t.RunReference().carry.h, (std::vector<float>{6, 12}));
  t.tau = {std::log(3.0f), std::log(3.0f)};  // 3/4 now, 1/4 next
  const Mamba3Result got = t.RunReference();
  EXPECT_NEAR(got.carry.h[0], 4.5 + 1.5 + 30, 1e-5);
  EXPECT_NEAR(got.carry.h[1], 9 + 3 + 42, 1e-5);
}

// H=4, G=2, lambda = 1, dt = 1: y_h = (q.k of the head's group) v_h.
TEST(Mamba3Reference, HeadsReadTheirGroup) {
  Mamba3Instance t;
  t.problem.heads = 4;
  t.problem.groups = 2;
  std::mt19937 rng(1);
  t.Fill(rng, test::Regime::kTypical);
  t.tau.assign(4, kInfinity);
  t.dt.assign(4, 1.0f);
  t.q = {2, 3};
  t.k = {5, 7};
  t.v = {1, 10, 100, 1000};
  EXPECT_EQ(t.RunReference().y, (std::vector<float>{10, 100, 2100, 21000}));
}

TEST(Mamba3Reference, SkipAndGate) {
  Mamba3Instance t = TwoTokens();
  t.problem.skip = true;
  t.d = {0.5f};
  EXPECT_EQ(t.RunReference().y[0], 63 + 1.5f);  // D x, x = v
  t.problem.gate = true;
  t.z = {2, -1};
  const Mamba3Result got = t.RunReference();
  EXPECT_EQ(got.y[0], 64.5f * (2.0f * Sigmoid(2.0f)));  // D inside the gate
  EXPECT_EQ(got.y[1], 174.0f * Silu(-1.0f));
}

TEST(Mamba3Reference, BiasComesBeforeTheRotation) {
  Mamba3Instance t = TwoTokens();
  t.problem.angles = 1;
  t.problem.bias = true;
  t.bq = {1, 2};
  t.bk = {10, 20};
  t.vartheta = {kInfinity, kInfinity};  // tanh = 1: dt / 2 turns a token
  t.dt = {0.5f, 0.5f};                  // a quarter
  const Mamba3Result got = t.RunReference();
  // Token 1: (10+1, 20+2) by a quarter turn; token 2: (10+5, 20+7) by a half.
  EXPECT_EQ(got.carry.k, (std::vector<float>{-15, -27}));
  EXPECT_EQ(got.carry.theta, (std::vector<float>{0.5f}));
  // gamma = 1/4: y1 = k1.q1 x gamma, invariant under the rotation.
  EXPECT_EQ(got.y[0], (11 * 2 + 22 * 12) * 3 * 0.25f);
}

TEST(Mamba3Reference, PairsOfEitherVariant) {
  for (const bool mimo : {false, true}) {
    Mamba3Instance t;
    Problem& p = t.problem;
    p.state_dim = 6;
    p.angles = 2;
    p.variant = mimo ? Problem::Variant::kMimo : Problem::Variant::kSiso;
    std::mt19937 rng(1);
    t.Fill(rng, test::Regime::kTypical);
    t.k = {1, 2, 3, 4, 5, 6};
    t.dt = {0.5f};
    t.vartheta = {kInfinity, kInfinity};  // (u, w) -> (-w, u)
    const std::vector<float> want =
        mimo ? std::vector<float>{-4, -5, 3, 1, 2, 6}
             : std::vector<float>{-2, 1, -4, 3, 5, 6};
    EXPECT_EQ(t.RunReference().carry.k, want);
  }
}

TEST(Mamba3Reference, AnglesWrapIntoOneTurn) {
  Mamba3Instance t = TwoTokens();
  t.problem.angles = 1;
  t.problem.carry_in = true;
  t.carry = {{0.75f}, {0, 0}, {0, 0}, {0}};
  t.vartheta = {kInfinity, -kInfinity};
  t.dt = {1, 0x1p-20f};  // half a turn on, 2^-21 back
  EXPECT_EQ(t.RunReference().carry.theta[0], 0.25f - 0x1p-21f);
  t.carry.theta = {0.5f};  // 0, then below: 1 - 2^-21
  EXPECT_EQ(t.RunReference().carry.theta[0], 1.0f - 0x1p-21f);
  t.dt = {1, 0x1p-40f};  // 1 - 2^-41 rounds to 1, which is 0
  EXPECT_EQ(Bits(t.RunReference().carry.theta[0]), 0u);
}

// Ranks share the state: h holds the sum over the ranks, and every rank reads
// all of it.
TEST(Mamba3Reference, RanksMixThroughTheState) {
  Mamba3Instance t;
  Problem& p = t.problem;
  p.variant = Problem::Variant::kMimo;
  p.ranks = 2;
  p.state_dim = 2;
  p.skip = true;
  std::mt19937 rng(1);
  t.Fill(rng, test::Regime::kTypical);
  t.tau = {kInfinity};  // lambda = 1
  t.dt = {1};
  t.q = {1, 2, 3, 5};  // [r][n]
  t.k = {7, 11, 13, 17};
  t.v = {2};
  t.psi = {3, -1};
  t.d = {10};
  // x = (6, -2); h = 6 (7,11) - 2 (13,17) = (16, 32)
  EXPECT_EQ(t.RunReference().y, (std::vector<float>{16 + 64 + 60,  //
                                                    48 + 160 - 20}));
  p.reduce = true;
  t.phi = {0.5f, 0.25f};
  EXPECT_EQ(t.RunReference().y, (std::vector<float>{70 + 47}));
  p.gate = true;
  t.z = {3};
  t.zeta = {2, -1};
  EXPECT_EQ(t.RunReference().y[0],
            std::fma(0.25f, 188 * Silu(-3), 0.5f * (140 * Silu(6))));
}

TEST(Mamba3Reference, NormComesBeforeTheGate) {
  Mamba3Instance t = TwoTokens();
  Problem& p = t.problem;
  p.norm_epsilon = 1e-5;
  t.norm_weight = {3};
  const float y = t.RunReference().y[0];  // o / |o| * 3
  EXPECT_NEAR(y, 3.0f, 1e-6f);
  p.gate = true;
  t.z = {2, 2};
  EXPECT_EQ(t.RunReference().y[0], y * Silu(2.0f));
}

// More channels than stripes: the mean over all of them.
TEST(Mamba3Reference, NormIsTheMeanOverChannels) {
  Mamba3Instance t;
  Problem& p = t.problem;
  p.head_dim = 40;
  p.norm_epsilon = 0x1p-20;
  std::mt19937 rng(1);
  t.Fill(rng, test::Regime::kTypical);
  t.tau = {kInfinity};
  t.dt = t.q = t.k = {1};  // o = v
  double mean = 0x1p-20;
  for (const float v : t.v) mean += double{v} * double{v} / 40;
  const Mamba3Result got = t.RunReference();
  for (size_t c = 0; c < 40; ++c) {
    const double want =
        double{t.v[c]} / std::sqrt(mean) * double{t.norm_weight[c]};
    EXPECT_NEAR(double{got.y[c]}, want, std::fabs(want) * 1e-6);
  }
}

TEST(Mamba3Reference, OutputIsNeverMinusZero) {
  for (const Lane lane : {Lane::kF32, Lane::kBf16}) {
    Mamba3Instance t = TwoTokens();
    t.problem.lane = lane;
    t.problem.gate = true;
    t.z = {-200, -200};  // silu = -0
    EXPECT_EQ(Bits(t.RunReference().y[0]), 0u);
    EXPECT_EQ(Bits(t.RunReference().y[1]), 0u);
  }
}

TEST(Mamba3Reference, EveryNaNIsTheCanonicalOne) {
  Mamba3Instance t = TwoTokens();
  t.problem.angles = 1;
  t.vartheta = {-kNaN32, 0};
  t.v[0] = -kNaN32;
  const Mamba3Result got = t.RunReference();
  EXPECT_EQ(Bits(got.y[0]), kCanonicalNaNBits);
  EXPECT_EQ(Bits(got.y[1]), kCanonicalNaNBits);
  for (const auto* part : {&got.carry.theta, &got.carry.h, &got.carry.k}) {
    for (const float x : *part) EXPECT_EQ(Bits(x), kCanonicalNaNBits);
  }
  EXPECT_EQ(got.carry.v[0], 4.0f);
}

// A run without carry does not see decay or step of anybody else.
TEST(Mamba3Reference, FirstTokenIsNotRenormalised) {
  Mamba3Instance t = TwoTokens();
  t.problem.runs = Problem::Runs::kCuSeqlens;
  t.cu_seqlens = {0, 1, 1, 2};
  const Mamba3Result got = t.RunReference();
  EXPECT_EQ(got.y, (std::vector<float>{63, 4 * (2 * 5 + 3 * 7)}));
  EXPECT_EQ(got.carry.h, (std::vector<float>{3, 6, 0, 0, 20, 28}));
}

}  // namespace
}  // namespace lockstep::reference
