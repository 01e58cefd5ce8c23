#include "tests/support/mamba3_problem.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/mamba3_scan.h"

namespace lockstep::test {
namespace {

using Problem = Mamba3ScanProblem;

constexpr uint32_t kPoison = 0x7fb5a5a5u;  // a NaN nobody computes

int64_t Product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1},
                         std::multiplies<>());
}

Shape QShape(const Problem& p) {
  return {p.batch, p.length, p.ranks, p.groups, p.state_dim};
}
Shape VShape(const Problem& p) {
  return {p.batch, p.length, p.heads, p.head_dim};
}
Shape AngleShape(const Problem& p) {
  return {p.batch, p.length, p.heads, p.angles};
}
Shape TimeShape(const Problem& p) { return {p.batch, p.heads, p.length}; }
Shape StateWeights(const Problem& p) { return {p.heads, p.ranks, p.state_dim}; }
Shape RankWeights(const Problem& p) { return {p.heads, p.ranks, p.head_dim}; }

template <size_t kRank>
std::array<int64_t, kRank> Fixed(const Shape& shape) {
  std::array<int64_t, kRank> fixed{};
  for (size_t r = 0; r < kRank; ++r) fixed[r] = shape[r];
  return fixed;
}

template <size_t kRank>
TensorView<const float, kRank> View(const std::vector<float>& x,
                                    const Shape& shape) {
  const auto fixed = Fixed<kRank>(shape);
  return {x.data(), fixed, DenseStrides(fixed)};
}

template <size_t kRank>
TensorView<float, kRank> MutableView(std::vector<float>& x,
                                     const std::array<int64_t, kRank>& shape) {
  return {x.data(), shape, DenseStrides(shape)};
}

template <size_t kRank>
BasicLaneView<const void, kRank> ViewLane(Lane lane,
                                          const std::vector<float>& x,
                                          std::vector<uint16_t>& halves,
                                          const Shape& shape) {
  const auto fixed = Fixed<kRank>(shape);
  if (lane == Lane::kF32) return {x.data(), lane, fixed, DenseStrides(fixed)};
  halves = Halves(lane, x);
  return {halves.data(), lane, fixed, DenseStrides(fixed)};
}

class Filler {
 public:
  explicit Filler(std::mt19937& rng) : rng_(rng) {}
  float Uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(rng_() >> 8) * 0x1p-24f;
  }
  std::vector<float> Normal(const Shape& shape, float mean, float scale) {
    std::normal_distribution<float> normal(mean, scale);
    std::vector<float> x(static_cast<size_t>(Product(shape)));
    for (float& value : x) value = normal(rng_);
    return x;
  }

  // dt, a and tau of one token.
  void Step(Regime regime, float& dt, float& a, float& tau) {
    switch (regime) {
      case Regime::kTypical:
        dt = std::exp(Uniform(std::log(1e-3f), std::log(0.5f)));
        a = -dt * Uniform(0.5f, 2.5f);
        tau = std::normal_distribution<float>(0.0f, 1.0f)(rng_);
        break;
      case Regime::kShortMemory:
        dt = Uniform(0.5f, 1.5f);
        a = -Uniform(0.3f, 1.5f);
        tau = -Uniform(0.5f, 2.5f);
        break;
      case Regime::kLongMemory:
        dt = Uniform(0.2f, 0.5f);
        a = -Uniform(0.0f, 0.01f);
        tau = Uniform(-2.0f, 2.0f);
        break;
      case Regime::kStrongDecay:
        dt = Uniform(0.05f, 0.15f);
        a = -Uniform(3.0f, 8.0f);
        tau = Uniform(-2.0f, 2.0f);
        break;
    }
  }

 private:
  std::mt19937& rng_;
};

int64_t Draw(std::mt19937& rng, int64_t least, int64_t most) {
  return least +
         static_cast<int64_t>(rng() % static_cast<uint64_t>(most - least + 1));
}

void AppendBits(const std::vector<float>& x, std::vector<uint32_t>& bits) {
  for (const float value : x) bits.push_back(std::bit_cast<uint32_t>(value));
}

}  // namespace

Shape YShape(const Problem& p) {
  return {p.batch, p.length, p.output_ranks(), p.heads, p.head_dim};
}

std::vector<float> Take(const std::vector<float>& x, const Shape& shape,
                        size_t axis, const std::vector<int64_t>& places) {
  if (x.empty()) return {};
  const auto middle = shape.begin() + static_cast<int64_t>(axis);
  const int64_t outer = Product(Shape(shape.begin(), middle));
  const int64_t inner = static_cast<int64_t>(x.size()) / (outer * *middle);
  std::vector<float> taken;
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t place : places) {
      const auto from = x.begin() + (o * *middle + place) * inner;
      taken.insert(taken.end(), from, from + inner);
    }
  }
  return taken;
}

std::vector<int64_t> Range(int64_t first, int64_t end) {
  std::vector<int64_t> range(static_cast<size_t>(end - first));
  std::iota(range.begin(), range.end(), first);
  return range;
}

Mamba3CarryData TakeRun(const Mamba3CarryData& carry, const Problem& p,
                        int64_t runs, int64_t run) {
  return {Take(carry.theta, {runs, p.heads, p.angles}, 0, {run}),
          Take(carry.h, {runs, p.heads, p.head_dim, p.state_dim}, 0, {run}),
          Take(carry.k, {runs, p.ranks, p.heads, p.state_dim}, 0, {run}),
          Take(carry.v, {runs, p.heads, p.head_dim}, 0, {run})};
}

void Mamba3CarryData::Resize(const Problem& p, int64_t runs, float fill) {
  const auto size = [&](const Shape& shape) {
    return static_cast<size_t>(runs * Product(shape));
  };
  theta.assign(size({p.heads, p.angles}), fill);
  h.assign(size({p.heads, p.head_dim, p.state_dim}), fill);
  k.assign(size({p.ranks, p.heads, p.state_dim}), fill);
  v.assign(size({p.heads, p.head_dim}), fill);
}

Mamba3Carry<float> Mamba3CarryData::View(const Problem& p, int64_t runs) {
  return {MutableView<3>(theta, {runs, p.heads, p.angles}),
          MutableView<4>(h, {runs, p.heads, p.head_dim, p.state_dim}),
          MutableView<4>(k, {runs, p.ranks, p.heads, p.state_dim}),
          MutableView<3>(v, {runs, p.heads, p.head_dim})};
}

std::vector<uint32_t> Mamba3Result::Bits() const {
  std::vector<uint32_t> bits;
  for (const auto* part : {&y, &carry.theta, &carry.h, &carry.k, &carry.v}) {
    AppendBits(*part, bits);
  }
  return bits;
}

Mamba3Outputs::Mamba3Outputs(const Problem& p, int64_t run_count)
    : problem(p),
      runs(run_count),
      y(static_cast<size_t>(Product(YShape(p))), kPoison) {
  carry.Resize(p, runs, std::bit_cast<float>(kPoison));
}

Mamba3ScanOutputs Mamba3Outputs::View() {
  const auto shape = Fixed<5>(YShape(problem));
  return {{y.data(), problem.lane, shape, DenseStrides(shape)},
          carry.View(problem, runs)};
}

Mamba3Result Mamba3Outputs::Result() const {
  Mamba3Result result;
  result.y = Widened(problem.lane, y);
  result.carry = carry;
  return result;
}

void Mamba3Instance::Fill(std::mt19937& rng, Regime regime) {
  Filler fill(rng);
  const Problem& p = problem;
  q = fill.Normal(QShape(p), 0.0f, 1.0f);
  k = fill.Normal(QShape(p), 0.0f, 1.0f);
  v = fill.Normal(VShape(p), 0.0f, 1.0f);
  z = fill.Normal(VShape(p), 0.0f, 1.0f);
  vartheta = fill.Normal(AngleShape(p), 0.0f, 2.0f);
  tau = a = dt = std::vector<float>(static_cast<size_t>(Product(TimeShape(p))));
  for (size_t i = 0; i < a.size(); ++i) {
    fill.Step(regime, dt[i], a[i], tau[i]);
  }
  bq = fill.Normal(StateWeights(p), 1.0f, 0.3f);
  bk = fill.Normal(StateWeights(p), 1.0f, 0.3f);
  d = fill.Normal({p.heads}, 1.0f, 0.3f);
  psi = fill.Normal(RankWeights(p), 0.5f, 0.5f);
  zeta = fill.Normal(RankWeights(p), 1.0f, 0.5f);
  phi = fill.Normal(RankWeights(p), 0.5f, 0.5f);
  norm_weight = fill.Normal({p.heads, p.head_dim}, 1.0f, 0.3f);
  const int64_t runs = CountRuns();
  carry.Resize(p, runs, 0.0f);
  for (float& x : carry.theta) x = fill.Uniform(0.0f, 1.0f);
  carry.h = fill.Normal({static_cast<int64_t>(carry.h.size())}, 0.0f, 1.0f);
  carry.k = fill.Normal({static_cast<int64_t>(carry.k.size())}, 0.0f, 1.0f);
  carry.v = fill.Normal({static_cast<int64_t>(carry.v.size())}, 0.0f, 1.0f);
}

int64_t Mamba3Instance::CountRuns() const {
  Mamba3ScanInputs in;
  in.segments = {
      segments.data(), {problem.batch, problem.length}, {problem.length, 1}};
  in.cu_seqlens = cu_seqlens;
  return lockstep::CountRuns(problem, in);
}

Mamba3ScanInputs Mamba3Instance::Inputs() {
  const Problem& p = problem;
  Mamba3ScanInputs in;
  in.q = ViewLane<5>(p.lane, q, halves_[0], QShape(p));
  in.k = ViewLane<5>(p.lane, k, halves_[1], QShape(p));
  in.v = ViewLane<4>(p.lane, v, halves_[2], VShape(p));
  in.a = View<3>(a, TimeShape(p));
  in.dt = View<3>(dt, TimeShape(p));
  in.tau = ViewLane<3>(p.lane, tau, halves_[3], TimeShape(p));
  if (p.angles > 0) {
    in.vartheta = ViewLane<4>(p.lane, vartheta, halves_[4], AngleShape(p));
  }
  if (p.gate) in.z = ViewLane<4>(p.lane, z, halves_[5], VShape(p));
  if (p.bias) in.bq = View<3>(bq, StateWeights(p));
  if (p.bias) in.bk = View<3>(bk, StateWeights(p));
  if (p.skip) in.d = View<1>(d, {p.heads});
  if (p.mimo()) in.psi = View<3>(psi, RankWeights(p));
  if (p.mimo() && p.gate) in.zeta = View<3>(zeta, RankWeights(p));
  if (p.reduce) in.phi = View<3>(phi, RankWeights(p));
  if (p.norm_epsilon) {
    in.norm_weight = View<2>(norm_weight, {p.heads, p.head_dim});
  }
  const int64_t runs = CountRuns();
  if (p.carry_in) {
    in.carry = {View<3>(carry.theta, {runs, p.heads, p.angles}),
                View<4>(carry.h, {runs, p.heads, p.head_dim, p.state_dim}),
                View<4>(carry.k, {runs, p.ranks, p.heads, p.state_dim}),
                View<3>(carry.v, {runs, p.heads, p.head_dim})};
  }
  if (p.runs == Problem::Runs::kSegments) {
    in.segments = {segments.data(), {p.batch, p.length}, {p.length, 1}};
  }
  if (p.runs == Problem::Runs::kCuSeqlens) in.cu_seqlens = cu_seqlens;
  return in;
}

Mamba3Result Mamba3Instance::RunReference() {
  Mamba3Outputs outputs(problem, CountRuns());
  const Mamba3ScanInputs in = Inputs();
  const Status status = reference::Mamba3Scan(problem, in, outputs.View());
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs.Result();
}

Mamba3Instance Mamba3Instance::Tokens(int64_t first, int64_t end,
                                      const Mamba3CarryData* start) const {
  const std::vector<int64_t> places = Range(first, end);
  Mamba3Instance part = *this;
  part.problem.length = end - first;
  part.problem.runs = Problem::Runs::kRows;
  part.segments.clear();
  part.cu_seqlens.clear();
  part.problem.carry_in = start != nullptr;
  if (start != nullptr) part.carry = *start;
  part.q = Take(q, QShape(problem), 1, places);
  part.k = Take(k, QShape(problem), 1, places);
  part.v = Take(v, VShape(problem), 1, places);
  part.z = Take(z, VShape(problem), 1, places);
  part.vartheta = Take(vartheta, AngleShape(problem), 1, places);
  part.a = Take(a, TimeShape(problem), 2, places);
  part.dt = Take(dt, TimeShape(problem), 2, places);
  part.tau = Take(tau, TimeShape(problem), 2, places);
  return part;
}

Mamba3Instance Mamba3Instance::Row(int64_t row) const {
  using I = Mamba3Instance;
  Mamba3Instance part = *this;
  part.problem.batch = 1;
  for (auto x :
       {&I::q, &I::k, &I::v, &I::z, &I::vartheta, &I::a, &I::dt, &I::tau}) {
    part.*x = Take(this->*x, {problem.batch}, 0, {row});
  }
  return part;
}

Mamba3Instance Mamba3Instance::PermuteHeads(
    const std::vector<int64_t>& order) const {
  using I = Mamba3Instance;
  Mamba3Instance part = *this;
  const Problem& p = problem;
  const int64_t runs = CountRuns();
  for (auto x : {&I::v, &I::z}) {
    part.*x = Take(this->*x, VShape(p), 2, order);
  }
  part.vartheta = Take(vartheta, AngleShape(p), 2, order);
  for (auto x : {&I::a, &I::dt, &I::tau}) {
    part.*x = Take(this->*x, TimeShape(p), 1, order);
  }
  for (auto x : {&I::bq, &I::bk}) {
    part.*x = Take(this->*x, StateWeights(p), 0, order);
  }
  for (auto x : {&I::psi, &I::zeta, &I::phi}) {
    part.*x = Take(this->*x, RankWeights(p), 0, order);
  }
  part.d = Take(d, {p.heads}, 0, order);
  part.norm_weight = Take(norm_weight, {p.heads, p.head_dim}, 0, order);
  part.carry = {
      Take(carry.theta, {runs, p.heads, p.angles}, 1, order),
      Take(carry.h, {runs, p.heads, p.head_dim, p.state_dim}, 1, order),
      Take(carry.k, {runs, p.ranks, p.heads, p.state_dim}, 2, order),
      Take(carry.v, {runs, p.heads, p.head_dim}, 1, order)};
  return part;
}

void MakeF16(Mamba3Instance& instance) {
  Mamba3ScanProblem& p = instance.problem;
  p.lane = Lane::kF16;
  if (p.rotated_lane == Lane::kBf16) p.rotated_lane = Lane::kF16;
}

Mamba3Instance RandomMamba3(std::mt19937& rng, Regime regime) {
  Mamba3Instance instance;
  Problem& p = instance.problem;
  p.batch = Draw(rng, 1, 2);
  p.length = Draw(rng, 1, 17);
  p.groups = Draw(rng, 1, 2);
  p.heads = p.groups * Draw(rng, 1, 2);
  p.state_dim = 2 * Draw(rng, 1, 5);
  p.head_dim = Draw(rng, 1, 5);
  p.angles = Draw(rng, 0, p.state_dim / 2);
  if (Draw(rng, 0, 1)) {
    p.variant = Problem::Variant::kMimo;
    p.ranks = Draw(rng, 1, 4);
    p.reduce = Draw(rng, 0, 1);
  }
  p.lane = Draw(rng, 0, 3) ? Lane::kF32 : Lane::kBf16;
  p.rotated_lane = Draw(rng, 0, 3) ? Lane::kF32 : Lane::kBf16;
  p.bias = Draw(rng, 0, 1);
  p.skip = Draw(rng, 0, 1);
  p.gate = Draw(rng, 0, 1);
  if (Draw(rng, 0, 3) == 0) p.norm_epsilon = 1e-5;
  p.carry_in = Draw(rng, 0, 1);
  p.runs = static_cast<Problem::Runs>(Draw(rng, 0, 2));
  if (p.runs == Problem::Runs::kCuSeqlens) {
    p.batch = 1;
    instance.cu_seqlens = {0};
    while (instance.cu_seqlens.back() < p.length) {
      instance.cu_seqlens.push_back(
          Draw(rng, instance.cu_seqlens.back(), p.length));
    }
  }
  for (int64_t i = 0; i < p.batch * p.length; ++i) {
    const bool fresh = i == 0 || Draw(rng, 0, 3) == 0;
    instance.segments.push_back(fresh ? static_cast<int32_t>(Draw(rng, -1, 1))
                                      : instance.segments.back());
  }
  instance.Fill(rng, regime);
  return instance;
}

}  // namespace lockstep::test
