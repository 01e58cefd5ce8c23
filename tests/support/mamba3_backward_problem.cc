#include "tests/support/mamba3_backward_problem.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/mamba3_scan_backward.h"
#include "reference/mamba3_scan_backward.h"

namespace lockstep::test {
namespace {

constexpr uint32_t kPoison = 0x7fb5a5a5u;  // a NaN nobody computes

int64_t Draw(std::mt19937& rng, int64_t least, int64_t most) {
  return least +
         static_cast<int64_t>(rng() % static_cast<uint64_t>(most - least + 1));
}

template <size_t kRank>
std::array<int64_t, kRank> Fixed(const Shape& shape) {
  std::array<int64_t, kRank> fixed{};
  std::copy_n(shape.begin(), kRank, fixed.begin());
  return fixed;
}

template <size_t kRank>
TensorView<float, kRank> ViewOf(Mamba3Gradients::Part& part) {
  if (!part.wanted) return {};
  const auto shape = Fixed<kRank>(part.shape);
  return {reinterpret_cast<float*>(part.data.data()), shape,
          DenseStrides(shape)};
}

template <size_t kRank>
BasicLaneView<void, kRank> LaneViewOf(Mamba3Gradients::Part& part) {
  if (!part.wanted) return {};
  const auto shape = Fixed<kRank>(part.shape);
  return {part.data.data(), part.lane, shape, DenseStrides(shape)};
}

void FillNormal(std::mt19937& rng, std::vector<float>& x) {
  std::normal_distribution<float> normal(0.0f, 1.0f);
  for (float& value : x) value = normal(rng);
}

// One element of one of the tensors.
void Spoil(std::mt19937& rng, Mamba3BackwardInstance& t) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {
      kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
      0.0f,      -0.0f,      1e-40f,
      -3e-39f,   1e30f,      -2e38f};
  Mamba3Instance& f = t.forward;
  std::vector<float>* const tensors[] = {
      &f.q,          &f.k,        &f.v,        &f.z,        &f.tau,
      &f.vartheta,   &f.bq,       &f.bk,       &f.d,        &f.psi,
      &f.zeta,       &f.phi,      &f.carry.h,  &f.carry.k,  &f.carry.v,
      &t.dy,         &t.dcarry.h, &t.dcarry.k, &t.dcarry.v, &t.dcarry.theta,
      &f.norm_weight};
  std::vector<float>& x = *tensors[rng() % std::size(tensors)];
  if (!x.empty()) x[rng() % x.size()] = kSpecial[rng() % std::size(kSpecial)];
}

}  // namespace

Mamba3Gradients::Mamba3Gradients(const Mamba3ScanBackwardProblem& problem,
                                 int64_t runs) {
  const Mamba3ScanProblem& p = problem.forward;
  const auto add = [&](const char* name, bool wanted, Lane lane,
                       const Shape& shape) {
    const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1},
                                         std::multiplies<>());
    parts_.push_back({name, shape, lane, wanted,
                      std::vector<uint32_t>(
                          static_cast<size_t>(wanted ? size : 0), kPoison)});
  };
  const Lane lane = problem.grad_lane;
  const Lane f32 = Lane::kF32;
  const Shape q{p.batch, p.length, p.ranks, p.groups, p.state_dim};
  const Shape v{p.batch, p.length, p.heads, p.head_dim};
  const Shape time{p.batch, p.heads, p.length};
  const Shape state{p.heads, p.ranks, p.state_dim};
  const Shape ranks{p.heads, p.ranks, p.head_dim};
  add("dq", true, lane, q);
  add("dk", true, lane, q);
  add("dv", true, lane, v);
  add("da", true, f32, time);
  add("ddt", true, f32, time);
  add("dtau", true, lane, time);
  add("dvartheta", p.angles > 0, lane, {p.batch, p.length, p.heads, p.angles});
  add("dbq", p.bias, f32, state);
  add("dbk", p.bias, f32, state);
  add("dd", p.skip, f32, {p.heads});
  add("dz", p.gate, lane, v);
  add("dpsi", p.mimo(), f32, ranks);
  add("dzeta", p.mimo() && p.gate, f32, ranks);
  add("dphi", p.reduce, f32, ranks);
  add("dnorm_weight", p.norm_epsilon.has_value(), f32, {p.heads, p.head_dim});
  add("dcarry_theta", p.carry_in, f32, {runs, p.heads, p.angles});
  add("dcarry_h", p.carry_in, f32, {runs, p.heads, p.head_dim, p.state_dim});
  add("dcarry_k", p.carry_in, f32, {runs, p.ranks, p.heads, p.state_dim});
  add("dcarry_v", p.carry_in, f32, {runs, p.heads, p.head_dim});
}

Mamba3ScanBackwardOutputs Mamba3Gradients::View() {
  auto& x = parts_;
  return {
      LaneViewOf<5>(x[0]),
      LaneViewOf<5>(x[1]),
      LaneViewOf<4>(x[2]),
      ViewOf<3>(x[3]),
      ViewOf<3>(x[4]),
      LaneViewOf<3>(x[5]),
      LaneViewOf<4>(x[6]),
      ViewOf<3>(x[7]),
      ViewOf<3>(x[8]),
      ViewOf<1>(x[9]),
      LaneViewOf<4>(x[10]),
      ViewOf<3>(x[11]),
      ViewOf<3>(x[12]),
      ViewOf<3>(x[13]),
      ViewOf<2>(x[14]),
      {ViewOf<3>(x[15]), ViewOf<4>(x[16]), ViewOf<4>(x[17]), ViewOf<3>(x[18])}};
}

std::vector<float> Mamba3Gradients::Part::Values() const {
  return test::Widened(lane, data);
}

std::vector<uint32_t> Mamba3Gradients::Bits() const {
  std::vector<uint32_t> bits;
  for (const Part& part : parts_) {
    for (const float x : part.Values()) {
      bits.push_back(std::bit_cast<uint32_t>(x));
    }
  }
  return bits;
}

std::vector<float> Mamba3Gradients::Values(const std::string& name) const {
  for (const Part& part : parts_) {
    if (part.name == name) return part.Values();
  }
  ADD_FAILURE() << "no gradient " << name;
  return {};
}

std::string Mamba3Gradients::FirstDifference(
    const Mamba3Gradients& other) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const std::vector<float> a = parts_[i].Values();
    const std::vector<float> b = other.parts_[i].Values();
    for (size_t j = 0; j < std::min(a.size(), b.size()); ++j) {
      if (std::bit_cast<uint32_t>(a[j]) == std::bit_cast<uint32_t>(b[j])) {
        continue;
      }
      return parts_[i].name + "[" + std::to_string(j) +
             "]: " + std::to_string(a[j]) + " and " + std::to_string(b[j]);
    }
  }
  return "none";
}

void Mamba3BackwardInstance::Fill(std::mt19937& rng) {
  const Mamba3ScanProblem& p = forward.problem;
  dy.resize(static_cast<size_t>(p.batch * p.length * p.output_ranks() *
                                p.heads * p.head_dim));
  FillNormal(rng, dy);
  dcarry.Resize(p, forward.CountRuns(), 0.0f);
  for (auto* part : {&dcarry.theta, &dcarry.h, &dcarry.k, &dcarry.v}) {
    FillNormal(rng, *part);
  }
}

Mamba3ScanBackwardProblem Mamba3BackwardInstance::Problem() const {
  return {forward.problem, grad_lane, carry_grad};
}

Mamba3ScanBackwardInputs Mamba3BackwardInstance::Inputs() {
  const Mamba3ScanProblem& p = forward.problem;
  Mamba3ScanBackwardInputs in;
  in.forward = forward.Inputs();
  const auto shape = Fixed<5>(YShape(p));
  in.dy = {dy.data(), p.lane, shape, DenseStrides(shape)};
  if (p.lane != Lane::kF32) {
    dy_halves_ = Halves(p.lane, dy);
    in.dy.data = dy_halves_.data();
  }
  if (carry_grad) {
    const Mamba3Carry<float> view = dcarry.View(p, forward.CountRuns());
    in.dcarry = {
        {view.theta.data, view.theta.shape, view.theta.strides},
        {view.h.data, view.h.shape, view.h.strides},
        {view.k.data, view.k.shape, view.k.strides},
        {view.v.data, view.v.shape, view.v.strides},
    };
  }
  return in;
}

Mamba3Gradients Mamba3BackwardInstance::RunReference(int64_t checkpoint) {
  Mamba3Gradients gradients(Problem(), forward.CountRuns());
  const Mamba3ScanBackwardInputs in = Inputs();
  const Status status = reference::Mamba3ScanBackward(
      Problem(), in, gradients.View(), checkpoint);
  EXPECT_TRUE(status.ok()) << status.message();
  return gradients;
}

void MakeF16(Mamba3BackwardInstance& instance) {
  const bool wide = instance.grad_lane != instance.forward.problem.lane;
  MakeF16(instance.forward);
  if (!wide) instance.grad_lane = Lane::kF16;
}

Mamba3BackwardInstance RandomMamba3Backward(std::mt19937& rng, Regime regime,
                                            bool special) {
  Mamba3BackwardInstance t;
  t.forward = RandomMamba3(rng, regime);
  if (Draw(rng, 0, 1)) t.grad_lane = t.forward.problem.lane;
  t.carry_grad = Draw(rng, 0, 1);
  t.Fill(rng);
  for (int64_t i = special ? Draw(rng, -2, 2) : 0; i > 0; --i) Spoil(rng, t);
  return t;
}

}  // namespace lockstep::test
