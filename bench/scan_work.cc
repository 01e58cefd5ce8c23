#include "bench/scan_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>

#include "reference/contract/numerics.h"
#include "reference/contract/tensor_view.h"
#include "reference/elementary.h"
#include "reference/mamba3_scan.h"
#include "verify/inputs/fill.h"

namespace lockstep::bench {
namespace {

template <size_t kRank>
int64_t Product(const std::array<int64_t, kRank>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1},
                         std::multiplies<>());
}

// Uniform values, low to high.
class Filler {
 public:
  void Fill(Storage& to, int64_t count, float low, float high) {
    to.resize(static_cast<size_t>(count));
    ++stream_;
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t word = generator_.Draw(stream_, i)[0];
      const float unit = static_cast<float>(word >> 8) * 0x1p-24f;
      to[static_cast<size_t>(i)] = low + (high - low) * unit;
    }
  }
  template <size_t kRank>
  TensorView<const float, kRank> F32(Storage& to,
                                     const std::array<int64_t, kRank>& shape,
                                     float low, float high) {
    Fill(to, Product(shape), low, high);
    return {to.data(), shape, DenseStrides(shape)};
  }
  template <size_t kRank>
  BasicLaneView<const void, kRank> OfLane(
      Storage& to, Lane lane, const std::array<int64_t, kRank>& shape,
      float low, float high) {
    Fill(to, Product(shape), low, high);
    if (lane == Lane::kBf16) {
      for (size_t i = 0; i < to.size(); ++i) {
        const uint16_t bits = reference::RoundToBf16(to[i]).bits;
        std::memcpy(reinterpret_cast<char*>(to.data()) + 2 * i, &bits, 2);
      }
    }
    return {to.data(), lane, shape, DenseStrides(shape)};
  }

 private:
  verify::CounterGenerator generator_{1, 3};
  uint32_t stream_ = 0;
};

template <size_t kRank>
TensorView<float, kRank> Dense(Storage& x,
                               const std::array<int64_t, kRank>& shape) {
  return {x.data(), shape, DenseStrides(shape)};
}

bool Same(const Storage& a, const Storage& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

double Size(const Storage& x) { return static_cast<double>(x.size()); }

}  // namespace

void CarryStorage::Resize(const Mamba3ScanProblem& p) {
  const auto resize = [&](Storage& x, int64_t count) {
    x.assign(static_cast<size_t>(p.batch * p.heads * count), 0.0f);
  };
  resize(theta, p.angles);
  resize(h, p.head_dim * p.state_dim);
  resize(k, p.ranks * p.state_dim);
  resize(v, p.head_dim);
}

Mamba3Carry<float> CarryStorage::View(const Mamba3ScanProblem& p) {
  return {Dense<3>(theta, {p.batch, p.heads, p.angles}),
          Dense<4>(h, {p.batch, p.heads, p.head_dim, p.state_dim}),
          Dense<4>(k, {p.batch, p.ranks, p.heads, p.state_dim}),
          Dense<3>(v, {p.batch, p.heads, p.head_dim})};
}

ScanWork::ScanWork(const Mamba3ScanProblem& p) : problem(p) {
  FillInputs();
  carry_out_.Resize(p);
  outputs.carry = carry_out_.View(p);
  if (p.carry_in) {
    carry_in_.Resize(p);
    inputs.carry = Constant(carry_in_.View(p));
  }
  const std::array<int64_t, 5> shape{p.batch, p.length, p.output_ranks(),
                                     p.heads, p.head_dim};
  y_.assign(static_cast<size_t>(Product(shape)), 0.0f);
  outputs.y = {y_.data(), p.lane, shape, DenseStrides(shape)};
}

// Decays between exp(-1/2) and 1: a memory of some ten tokens.
void ScanWork::FillInputs() {
  const Mamba3ScanProblem& p = problem;
  Filler f;
  const std::array<int64_t, 5> vectors{p.batch, p.length, p.ranks, p.groups,
                                       p.state_dim};
  const std::array<int64_t, 4> channels{p.batch, p.length, p.heads, p.head_dim};
  const std::array<int64_t, 4> angles{p.batch, p.length, p.heads, p.angles};
  const std::array<int64_t, 3> times{p.batch, p.heads, p.length};
  const std::array<int64_t, 3> biases{p.heads, p.ranks, p.state_dim};
  const std::array<int64_t, 3> ranks{p.heads, p.ranks, p.head_dim};
  inputs.q = f.OfLane(q_, p.lane, vectors, -1.0f, 1.0f);
  inputs.k = f.OfLane(k_, p.lane, vectors, -1.0f, 1.0f);
  inputs.v = f.OfLane(v_, p.lane, channels, -1.0f, 1.0f);
  inputs.a = f.F32(a_, times, -0.5f, 0.0f);
  inputs.dt = f.F32(dt_, times, 0.001f, 0.5f);
  inputs.tau = f.OfLane(tau_, p.lane, times, -2.0f, 2.0f);
  inputs.vartheta = f.OfLane(vartheta_, p.lane, angles, -2.0f, 2.0f);
  if (p.bias) {
    inputs.bq = f.F32(bq_, biases, 0.5f, 1.5f);
    inputs.bk = f.F32(bk_, biases, 0.5f, 1.5f);
  }
  if (p.skip) inputs.d = f.F32<1>(d_, {p.heads}, 0.5f, 1.5f);
  if (p.gate) inputs.z = f.OfLane(z_, p.lane, channels, -2.0f, 2.0f);
  if (!p.mimo()) return;
  inputs.psi = f.F32(psi_, ranks, 0.0f, 0.5f);
  if (p.gate) inputs.zeta = f.F32(zeta_, ranks, 0.5f, 1.5f);
  if (p.reduce) inputs.phi = f.F32(phi_, ranks, 0.0f, 0.5f);
}

Mamba3Carry<const float> ScanWork::Constant(const Mamba3Carry<float>& carry) {
  return {{carry.theta.data, carry.theta.shape, carry.theta.strides},
          {carry.h.data, carry.h.shape, carry.h.strides},
          {carry.k.data, carry.k.shape, carry.k.strides},
          {carry.v.data, carry.v.shape, carry.v.strides}};
}

Status ScanWork::Run(const optimized::Mamba3ScanCaps& caps,
                     optimized::Mamba3ScanExecution* execution) {
  return optimized::Mamba3Scan(problem, inputs, caps, outputs, execution);
}

void ScanWork::RunReference(Storage& y, CarryStorage& carry) {
  y.assign(y_.size(), 0.0f);
  carry.Resize(problem);
  Mamba3ScanOutputs expected{outputs.y, carry.View(problem)};
  expected.y.data = y.data();
  // One that refuses the scan leaves zeros, which are no result of it.
  (void)reference::Mamba3Scan(problem, inputs, expected);
}

bool ScanWork::HasReferenceBits() {
  Storage y;
  CarryStorage carry;
  RunReference(y, carry);
  return Same(y, y_) && Same(carry.theta, carry_out_.theta) &&
         Same(carry.h, carry_out_.h) && Same(carry.k, carry_out_.k) &&
         Same(carry.v, carry_out_.v);
}

double ScanWork::RelativeError() {
  Storage y;
  CarryStorage carry;
  RunReference(y, carry);
  const auto value = [&](const Storage& from, size_t i) {
    if (problem.lane == Lane::kF32) return from[i];
    Bf16 bits;
    std::memcpy(&bits, reinterpret_cast<const char*>(from.data()) + 2 * i, 2);
    return ToFloat(bits);
  };
  double error = 0, square = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double right = value(y, i);
    error += std::pow(value(y_, i) - right, 2);
    square += right * right;
  }
  return std::sqrt(error / square);
}

double ScanWork::Flop() const {
  const Mamba3ScanProblem& p = problem;
  return static_cast<double>(p.batch * p.length * p.heads * p.state_dim *
                             p.head_dim * (1 + 6 * p.ranks));
}

double ScanWork::Bytes() const {
  const double of_lane = Size(q_) + Size(k_) + Size(v_) + Size(z_) +
                         Size(tau_) + Size(vartheta_) + Size(y_);
  const double f32 = Size(a_) + Size(dt_) + Size(carry_in_.h) +
                     Size(carry_out_.h) + Size(carry_in_.k) +
                     Size(carry_out_.k);
  return of_lane * static_cast<double>(LaneBytes(problem.lane)) + 4.0 * f32;
}

}  // namespace lockstep::bench
