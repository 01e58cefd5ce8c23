// ssd_scan against Mamba-2's own recurrence, written here without Mamba-3.
#include "reference/ssd_scan.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/ssd_scan.h"
#include "reference/elementary.h"
#include "tests/support/mamba3_problem.h"

namespace lockstep::reference {
namespace {

using test::Mamba3Instance;
using Runs = Mamba3ScanProblem::Runs;

// T=12, H=4, G=2, N=6, P=3, runs 5 + 0 + 7, everything on.
struct Case {
  explicit Case(test::Regime regime) {
    Mamba3ScanProblem& p = data.problem;
    p.length = 12;
    p.heads = 4;
    p.groups = 2;
    p.state_dim = 6;
    p.head_dim = 3;
    p.runs = Runs::kCuSeqlens;
    p.skip = p.gate = p.carry_in = true;
    data.cu_seqlens = {0, 5, 5, 12};
    std::mt19937 rng(4);
    data.Fill(rng, regime);
    const Mamba3ScanInputs in = data.Inputs();
    problem = {1, 12, 4, 2, 6, 3, p.lane, p.runs, true, true, true};
    inputs.q = {in.q.data, p.lane, {1, 12, 2, 6}, {144, 12, 6, 1}};
    inputs.k = {in.k.data, p.lane, {1, 12, 2, 6}, {144, 12, 6, 1}};
    inputs.v = in.v;
    inputs.a = in.a;
    inputs.dt = in.dt;
    inputs.d = in.d;
    inputs.z = in.z;
    inputs.carry = in.carry.h;
    inputs.cu_seqlens = data.cu_seqlens;
    outputs.y = {y.data(), p.lane, {1, 12, 4, 3}, {144, 12, 3, 1}};
    outputs.carry = {h.data(), {3, 4, 3, 6}, {72, 18, 6, 1}};
  }

  Mamba3Instance data;
  SsdScanProblem problem;
  SsdScanInputs inputs;
  std::vector<float> y = std::vector<float>(144, NAN);
  std::vector<float> h = std::vector<float>(216, NAN);
  SsdScanOutputs outputs;
};

// One (head, channel) of one run: h [n] in place, y of its tokens.
void Mamba2(const SsdScanInputs& in, int64_t head, int64_t channel,
            int64_t first, int64_t end, std::vector<float>& h,
            std::vector<float>& y) {
  const auto q = in.q.As<float>();
  const auto k = in.k.As<float>();
  const float d = in.d(head);
  for (int64_t t = first; t < end; ++t) {
    const float dt = in.dt(0, head, t);
    const float x = in.v.As<float>()(0, t, head, channel);
    const float z = in.z.As<float>()(0, t, head, channel);
    const float alpha = Exp(in.a(0, head, t));
    float o = 0.0f;
    for (int64_t n = 0; n < 6; ++n) {
      float& state = h[static_cast<size_t>(n)];
      state = std::fma(dt * k(0, t, head / 2, n), x, alpha * state);
      o = std::fma(q(0, t, head / 2, n), state, o);
    }
    y.push_back(std::fma(d, x, o) * Silu(z) + 0.0f);
  }
}

TEST(SsdScan, IsMamba2BitForBit) {
  for (const test::Regime regime : test::kRegimes) {
    Case c(regime);
    const Status status = Validate(c.problem, c.inputs, c.outputs);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(SsdScan(c.problem, c.inputs, c.outputs).ok());
    for (int64_t run = 0; run < 3; ++run) {
      const int64_t first = c.data.cu_seqlens[static_cast<size_t>(run)];
      const int64_t end = c.data.cu_seqlens[static_cast<size_t>(run) + 1];
      for (int64_t head = 0; head < 4; ++head) {
        for (int64_t p = 0; p < 3; ++p) {
          std::vector<float> h;
          std::vector<float> y;
          for (int64_t n = 0; n < 6; ++n) {
            h.push_back(c.inputs.carry(run, head, p, n));
          }
          Mamba2(c.inputs, head, p, first, end, h, y);
          for (int64_t t = first; t < end; ++t) {
            const float got = c.outputs.y.As<float>()(0, t, head, p);
            ASSERT_EQ(
                std::bit_cast<uint32_t>(got),
                std::bit_cast<uint32_t>(y[static_cast<size_t>(t - first)]));
          }
          for (int64_t n = 0; n < 6; ++n) {
            ASSERT_EQ(c.outputs.carry(run, head, p, n),
                      h[static_cast<size_t>(n)]);
          }
        }
      }
    }
  }
}

TEST(SsdScan, Bf16LaneIsTheDegenerateMamba3) {
  Case c(test::Regime::kTypical);
  Mamba3Instance& t = c.data;
  t.problem.lane = Lane::kBf16;
  t.tau.assign(t.tau.size(), HUGE_VALF);
  const test::Mamba3Result scan = t.RunReference();
  const Mamba3ScanInputs in = t.Inputs();
  c.problem.lane = Lane::kBf16;
  c.inputs.q = {in.q.data, Lane::kBf16, {1, 12, 2, 6}, {144, 12, 6, 1}};
  c.inputs.k = {in.k.data, Lane::kBf16, {1, 12, 2, 6}, {144, 12, 6, 1}};
  c.inputs.v = in.v;
  c.inputs.z = in.z;
  c.inputs.carry = in.carry.h;
  std::vector<Bf16> y(144);
  c.outputs.y = {y.data(), Lane::kBf16, {1, 12, 4, 3}, {144, 12, 3, 1}};
  ASSERT_TRUE(Validate(c.problem, c.inputs, c.outputs).ok());
  ASSERT_TRUE(SsdScan(c.problem, c.inputs, c.outputs).ok());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(ToFloat(y[i]), scan.y[i]);
}

TEST(SsdScan, RefusesInOneLine) {
  const auto refused = [](const auto& spoil) {
    Case c(test::Regime::kTypical);
    spoil(c);
    const Status status = Validate(c.problem, c.inputs, c.outputs);
    return status.ok() ? std::string() : status.message();
  };
  EXPECT_EQ(refused([](Case&) {}), "");
  EXPECT_EQ(refused([](Case& c) { c.problem.heads = 3; }),
            "h=3 is not a multiple of g=2");
  EXPECT_EQ(refused([](Case& c) { c.inputs.v.data = nullptr; }),
            "v is missing");
  EXPECT_EQ(refused([](Case& c) { c.data.a[1] = 2.0f; }),
            "a[b=0,h=0,t=1]=2; want finite and <= 0");
  EXPECT_EQ(refused([](Case& c) { c.inputs.carry.shape[0] = 2; }),
            "carry h has shape [2,4,3,6]; want [3,4,3,6]");
  EXPECT_EQ(refused([](Case& c) { c.outputs.carry.shape[0] = 2; }),
            "exported carry has shape [2,4,3,6]; want [3,4,3,6]");
  EXPECT_EQ(refused([](Case& c) { c.outputs.carry.strides[0] = 0; }),
            "exported carry overlaps itself: shape [3,4,3,6], strides "
            "[0,18,6,1]");
}

}  // namespace
}  // namespace lockstep::reference
