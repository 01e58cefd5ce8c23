// The fast scan has the reference's bits, y and carry, on every target that
// runs here, for any number of threads.
#include "optimized/mamba3_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/plan.h"
#include "optimized/ssd_scan.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/ssd_scan.h"
#include "reference/contract/tensor_view.h"
#include "reference/mamba3_scan.h"
#include "reference/ssd_scan.h"
#include "tests/support/mamba3_problem.h"
#include "tests/support/runnable_targets.h"

namespace lockstep::optimized {
namespace {

using test::kRegimes;
using test::Mamba3Instance;
using test::Mamba3Outputs;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

std::vector<uint32_t> RunOptimized(Mamba3Instance& t,
                                   const Mamba3ScanCaps& caps) {
  Mamba3Outputs outputs(t.problem, t.CountRuns());
  Mamba3ScanExecution execution;
  const Status status =
      Mamba3Scan(t.problem, t.Inputs(), caps, outputs.View(), &execution);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(execution.target, caps.target);
  return outputs.Result().Bits();
}

void ExpectReferenceBits(Mamba3Instance& t) {
  const std::vector<uint32_t> expected = t.RunReference().Bits();
  for (const std::string& target : test::RunnableTargets()) {
    for (const int threads : {1, 3}) {
      ASSERT_EQ(RunOptimized(t, {target, threads}), expected)
          << target << " threads " << threads << " n " << t.problem.state_dim
          << " p " << t.problem.head_dim << " s " << t.problem.angles << " r "
          << t.problem.ranks << " mimo " << t.problem.mimo();
    }
  }
}

TEST(Mamba3Optimized, BitsOfRandomProblems) {
  std::mt19937 rng(8);
  for (const test::Regime regime : kRegimes) {
    for (int i = 0; i < 150; ++i) {
      Mamba3Instance t = test::RandomMamba3(rng, regime);
      ExpectReferenceBits(t);
      if (HasFatalFailure()) return;
    }
  }
}

// Of f16 tensors, subnormal ones and such as make y infinite among them, and
// with q and k rotated in f16.
TEST(Mamba3Optimized, BitsOfF16) {
  using I = Mamba3Instance;
  std::mt19937 rng(18);
  for (int i = 0; i < 160; ++i) {
    Mamba3Instance t = test::RandomMamba3(rng, kRegimes[i % 4]);
    test::MakeF16(t);
    if (i % 3 == 0) t.problem.rotated_lane = Lane::kF16;
    for (auto x : {&I::q, &I::k, &I::v, &I::z}) {
      const float size = std::array{1.0f, 1e-6f, 1e-4f, 1000.0f}[rng() % 4];
      for (float& value : t.*x) value *= size;
    }
    ExpectReferenceBits(t);
    if (HasFatalFailure()) return;
  }
}

// Around whole vectors and register tiles of every target; N that is odd.
TEST(Mamba3Optimized, BitsOfEveryTail) {
  std::mt19937 rng(9);
  for (const int64_t head_dim :
       {1, 7, 8, 9, 15, 16, 17, 24, 31, 33, 63, 64, 65, 70}) {
    for (const int64_t state_dim : {2, 9, 17, 34, 64}) {
      Mamba3Instance t = test::RandomMamba3(rng, kRegimes[head_dim % 4]);
      Mamba3ScanProblem& p = t.problem;
      p.head_dim = head_dim;
      p.state_dim = state_dim;
      p.angles = std::uniform_int_distribution<int64_t>(0, state_dim / 2)(rng);
      if (p.mimo() && state_dim % 2 != 0) p.angles = 0;
      t.Fill(rng, kRegimes[head_dim % 4]);
      ExpectReferenceBits(t);
      if (HasFatalFailure()) return;
    }
  }
}

// Longer than a block of tokens; all angles; runs across its edge.
TEST(Mamba3Optimized, BitsAcrossBlocksOfTokens) {
  std::mt19937 rng(10);
  for (const test::Regime regime : kRegimes) {
    for (const bool mimo : {false, true}) {
      Mamba3Instance t;
      Mamba3ScanProblem& p = t.problem;
      p.length = 200;
      p.heads = 2;
      p.state_dim = 32;
      p.angles = 16;
      p.head_dim = 20;
      p.bias = p.skip = p.gate = p.carry_in = true;
      if (mimo) {
        p.variant = Mamba3ScanProblem::Variant::kMimo;
        p.ranks = 3;
        p.reduce = true;
      }
      p.runs = Mamba3ScanProblem::Runs::kCuSeqlens;
      t.cu_seqlens = {0, 63, 64, 64, 129, 200};
      t.Fill(rng, regime);
      ExpectReferenceBits(t);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Mamba3Optimized, BitsOfNonFiniteInputs) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(),
                                kInfinity, -kInfinity, 3e38f, 1e-41f};
  std::mt19937 rng(11);
  using I = Mamba3Instance;
  for (int i = 0; i < 200; ++i) {
    Mamba3Instance t = test::RandomMamba3(rng, kRegimes[i % 4]);
    if (i % 5 == 4) test::MakeF16(t);
    for (auto x : {&I::q, &I::k, &I::v, &I::z, &I::tau, &I::vartheta}) {
      if ((t.*x).empty() || rng() % 4 != 0) continue;
      (t.*x)[rng() % (t.*x).size()] = kSpecial[rng() % 5];
    }
    if (rng() % 4 == 0)
      t.carry.h[rng() % t.carry.h.size()] = kSpecial[rng() % 3];
    ExpectReferenceBits(t);
    if (HasFatalFailure()) return;
  }
}

// Angles shared by the heads, and every tensor with a gap between its elements.
TEST(Mamba3Optimized, BitsOfStridedTensors) {
  std::mt19937 rng(12);
  Mamba3Instance t = test::RandomMamba3(rng, test::Regime::kTypical);
  Mamba3ScanProblem& p = t.problem;
  p.lane = Lane::kF32;
  p.runs = Mamba3ScanProblem::Runs::kRows;
  p.gate = p.bias = true;
  p.state_dim = 20;
  p.head_dim = 11;
  p.angles = 10;
  t.Fill(rng, test::Regime::kTypical);
  Mamba3ScanInputs in = t.Inputs();
  in.vartheta.strides[2] = 0;
  std::vector<float> wide_q(2 * t.q.size());
  for (size_t i = 0; i < t.q.size(); ++i) wide_q[2 * i] = t.q[i];
  in.q.data = wide_q.data();
  for (int64_t& stride : in.q.strides) stride *= 2;
  std::vector<float> wide_a(3 * t.a.size());
  for (size_t i = 0; i < t.a.size(); ++i) wide_a[3 * i] = t.a[i];
  in.a.data = wide_a.data();
  for (int64_t& stride : in.a.strides) stride *= 3;
  Mamba3Outputs expected(p, t.CountRuns());
  ASSERT_TRUE(Validate(p, in, expected.View()).ok());
  ASSERT_TRUE(reference::Mamba3Scan(p, in, expected.View()).ok());
  Mamba3Outputs got(p, t.CountRuns());
  ASSERT_TRUE(Mamba3Scan(p, in, {}, got.View(), nullptr).ok());
  EXPECT_EQ(got.Result().Bits(), expected.Result().Bits());
}

// Halves that are no whole vectors: nothing behind a row is read (sanitizers
// see it) and every pair is right.
TEST(Mamba3Optimized, BitsOfUnevenHalves) {
  std::mt19937 rng(17);
  for (const int64_t state_dim : {8, 16, 24, 40, 48}) {
    Mamba3Instance t = test::RandomMamba3(rng, test::Regime::kTypical);
    t.problem.variant = Mamba3ScanProblem::Variant::kMimo;
    t.problem.lane = Lane::kF32;
    t.problem.state_dim = state_dim;
    t.problem.angles = state_dim / 2;
    t.Fill(rng, test::Regime::kTypical);
    ExpectReferenceBits(t);
    if (HasFatalFailure()) return;
  }
}

// Just below a whole turn the reduced angle rounds to 1, which is 0.
TEST(Mamba3Optimized, BitsOfAnglesThatRoundToATurn) {
  std::mt19937 rng(15);
  Mamba3Instance t = test::RandomMamba3(rng, test::Regime::kTypical);
  t.problem.state_dim = 20;
  t.problem.angles = 9;
  t.problem.carry_in = false;
  t.Fill(rng, test::Regime::kTypical);
  for (float& x : t.vartheta) x = -1e-9f;
  ExpectReferenceBits(t);
}

// Token by token, the carry of each call that of the next one.
void ExpectStepsAreTheScan(Mamba3Instance t, const std::string& target) {
  const test::Mamba3Result expected = t.RunReference();
  test::Mamba3CarryData carry = t.carry;
  for (int64_t at = 0; at < t.problem.length; ++at) {
    Mamba3Instance token = t.Tokens(at, at + 1, &carry);
    Mamba3Outputs outputs(token.problem, t.problem.batch);
    Mamba3ScanOutputs out = outputs.View();
    out.carry = token.carry.View(token.problem, t.problem.batch);
    ASSERT_TRUE(
        Mamba3Step(token.problem, token.Inputs(), {target}, out, nullptr).ok());
    for (int64_t row = 0; row < t.problem.batch; ++row) {
      const test::Mamba3Result y = outputs.Result();
      const auto width = static_cast<int64_t>(y.y.size()) / token.problem.batch;
      for (int64_t i = 0; i < width; ++i) {
        ASSERT_EQ(y.y[row * width + i],
                  expected.y[(row * t.problem.length + at) * width + i])
            << target << " n " << t.problem.state_dim << " p "
            << t.problem.head_dim << " r " << t.problem.ranks;
      }
    }
    carry = token.carry;
  }
  EXPECT_EQ(carry, expected.carry);
}

TEST(Mamba3Optimized, StepsInPlaceAreTheScan) {
  std::mt19937 rng(13);
  // Whole squares of 16, of 8 and of 4 lanes, and states that go through the
  // scratch.
  const std::array<int64_t, 2> kDims[] = {{128, 64}, {16, 32}, {24, 8},
                                          {12, 20},  {16, 19}, {6, 16}};
  for (const auto& [state_dim, head_dim] : kDims) {
    for (const int64_t ranks : {1, 2, 3, 4}) {
      Mamba3Instance t = test::RandomMamba3(rng, test::Regime::kTypical);
      Mamba3ScanProblem& p = t.problem;
      p.runs = Mamba3ScanProblem::Runs::kRows;
      p.carry_in = true;
      p.state_dim = state_dim;
      p.head_dim = head_dim;
      p.angles = std::min(p.angles, state_dim / 2);
      if (ranks > 1) p.variant = Mamba3ScanProblem::Variant::kMimo;
      if (p.mimo()) p.ranks = ranks;
      t.Fill(rng, test::Regime::kTypical);
      for (const std::string& target : test::RunnableTargets()) {
        ExpectStepsAreTheScan(t, target);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A state that stays where it lies is canonical, as one that is copied.
TEST(Mamba3Optimized, StepsInPlaceExportCanonicalNaNs) {
  std::mt19937 rng(14);
  Mamba3Instance t = test::RandomMamba3(rng, test::Regime::kTypical);
  Mamba3ScanProblem& p = t.problem;
  p.variant = Mamba3ScanProblem::Variant::kSiso;
  p.runs = Mamba3ScanProblem::Runs::kRows;
  p.ranks = p.length = 1;
  p.state_dim = p.head_dim = 16;
  p.angles = 4;
  p.reduce = false;
  p.carry_in = true;
  t.Fill(rng, test::Regime::kTypical);
  t.carry.h[5] = std::bit_cast<float>(0xffc12345u);
  ExpectReferenceBits(t);
}

// Mamba-2 is lambda = 1 without angles, bias and k, v of the carry.
TEST(Mamba3Optimized, SsdScanHasTheReferencesBits) {
  std::mt19937 rng(16);
  for (const bool exports : {false, true}) {
    Mamba3Instance t = test::RandomMamba3(rng, test::Regime::kTypical);
    Mamba3ScanProblem& p = t.problem;
    p.variant = Mamba3ScanProblem::Variant::kSiso;
    p.ranks = 1;
    p.runs = Mamba3ScanProblem::Runs::kRows;
    p.lane = Lane::kF32;
    p.skip = p.gate = p.carry_in = true;
    p.reduce = false;
    t.Fill(rng, test::Regime::kTypical);
    const Mamba3ScanInputs in = t.Inputs();
    const SsdScanProblem problem{p.batch,     p.length,   p.heads, p.groups,
                                 p.state_dim, p.head_dim, p.lane,  p.runs,
                                 true,        true,       true};
    const auto vectors = [&](const BasicLaneView<const void, 5>& x) {
      const std::array<int64_t, 4> shape{p.batch, p.length, p.groups,
                                         p.state_dim};
      return LaneView{x.data, p.lane, shape, DenseStrides(shape)};
    };
    const SsdScanInputs inputs{
        vectors(in.q), vectors(in.k), in.v,       in.a, in.dt,
        in.d,          in.z,          in.carry.h, {},   {}};
    const std::array<int64_t, 4> y_shape{p.batch, p.length, p.heads,
                                         p.head_dim};
    const std::array<int64_t, 4> h_shape = in.carry.h.shape;
    const auto run = [&](auto scan) {
      std::vector<float> y(p.batch * p.length * p.heads * p.head_dim, NAN);
      std::vector<float> h(t.carry.h.size(), NAN);
      SsdScanOutputs out{{y.data(), p.lane, y_shape, DenseStrides(y_shape)},
                         {}};
      if (exports) out.carry = {h.data(), h_shape, DenseStrides(h_shape)};
      EXPECT_TRUE(Validate(problem, inputs, out).ok());
      scan(out);
      y.insert(y.end(), h.begin(), h.end());
      std::vector<uint32_t> bits;
      for (const float x : y) bits.push_back(std::bit_cast<uint32_t>(x));
      return bits;
    };
    const auto expected = run([&](const SsdScanOutputs& out) {
      EXPECT_TRUE(reference::SsdScan(problem, inputs, out).ok());
    });
    const auto got = run([&](const SsdScanOutputs& out) {
      EXPECT_TRUE(SsdScan(problem, inputs, {}, out, nullptr).ok());
    });
    EXPECT_EQ(got, expected);
  }
}

TEST(Mamba3Optimized, RefusesAnUnknownTarget) {
  Mamba3Instance t;
  std::mt19937 rng(14);
  t.Fill(rng, test::Regime::kTypical);
  Mamba3Outputs outputs(t.problem, 1);
  const Status status =
      Mamba3Scan(t.problem, t.Inputs(), {"Z80", 1}, outputs.View(), nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(), UnknownTarget("Z80"));
}

}  // namespace
}  // namespace lockstep::optimized
