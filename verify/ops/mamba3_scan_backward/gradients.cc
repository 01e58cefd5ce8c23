#include "verify/ops/mamba3_scan_backward/gradients.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace lockstep::verify {
namespace {

using Axes = std::array<const char*, 4>;
constexpr Axes kOfHeads = {"b", "t", "h", "p"};
constexpr Axes kOfTimes = {"b", "h", "t", nullptr};
constexpr Axes kOfWeights = {nullptr, "h", "r", "p"};

bool HasAxis(const OutputSpec& spec, std::string_view axis) {
  for (const char* one : spec.axes) {
    if (one != nullptr && axis == one) return true;
  }
  return false;
}

// Axes a, b, c of an output as a view of f32.
template <size_t kRank>
TensorView<float, kRank> Floats(const MutableLaneView& x,
                                const std::array<size_t, kRank>& axes) {
  TensorView<float, kRank> view;
  view.data = static_cast<float*>(x.data);
  for (size_t i = 0; i < kRank; ++i) {
    view.shape[i] = x.shape[axes[i]];
    view.strides[i] = x.strides[axes[i]];
  }
  return view;
}

BasicLaneView<void, 5> Ranked(const MutableLaneView& x, int64_t ranks) {
  const auto& n = x.shape;
  const auto& s = x.strides;
  return {x.data,
          x.lane,
          {n[0], n[1] / ranks, ranks, n[2], n[3]},
          {s[0], s[1] * ranks, s[1], s[2], s[3]}};
}

BasicLaneView<void, 3> Times(const MutableLaneView& x) {
  return {x.data,
          x.lane,
          {x.shape[0], x.shape[1], x.shape[2]},
          {x.strides[0], x.strides[1], x.strides[2]}};
}

class Specs {
 public:
  Specs(const Mamba3ScanBackwardProblem& problem, int64_t runs)
      : p_(problem.forward), lane_(problem.grad_lane), runs_(runs) {}

  std::vector<OutputSpec> Take() {
    AddTokens();
    AddWeights();
    if (p_.carry_in) AddCarry();
    return std::move(specs_);
  }

 private:
  void Add(const char* name, Lane lane, const std::array<int64_t, 4>& shape,
           const Axes& axes, std::vector<int64_t> file_shape, size_t down) {
    specs_.push_back({.name = name,
                      .lane = lane,
                      .shape = shape,
                      .axes = axes,
                      .file_shape = std::move(file_shape),
                      .down = down});
  }
  void Tokens(const char* name, int64_t channels) {
    Add(name, lane_, {p_.batch, p_.length, p_.heads, channels}, kOfHeads, {},
        1);
  }
  void Groups(const char* name) {
    Add(name, lane_, {p_.batch, p_.length * p_.ranks, p_.groups, p_.state_dim},
        {"b", p_.ranks == 1 ? "t" : "t*r", "g", "n"},
        {p_.batch, p_.length, p_.ranks, p_.groups, p_.state_dim}, 1);
  }
  void Times(const char* name, Lane lane) {
    Add(name, lane, {p_.batch, p_.heads, p_.length, 1}, kOfTimes,
        {p_.batch, p_.heads, p_.length}, 2);
  }
  void Weights(const char* name, int64_t channels) {
    Add(name, Lane::kF32, {1, p_.heads, p_.ranks, channels}, kOfWeights,
        {p_.heads, p_.ranks, channels}, 2);
  }

  void AddTokens() {
    Tokens("dv", p_.head_dim);
    Groups("dq");
    Groups("dk");
    Times("da", Lane::kF32);
    Times("ddt", Lane::kF32);
    Times("dtau", lane_);
    if (p_.angles > 0) Tokens("dvartheta", p_.angles);
    if (p_.gate) Tokens("dz", p_.head_dim);
  }
  void AddWeights() {
    if (p_.bias) Weights("dbq", p_.state_dim);
    if (p_.bias) Weights("dbk", p_.state_dim);
    if (p_.skip) {
      Add("dd", Lane::kF32, {1, p_.heads, 1, 1},
          {nullptr, "h", nullptr, nullptr}, {p_.heads}, 1);
    }
    if (p_.mimo()) Weights("dpsi", p_.head_dim);
    if (p_.mimo() && p_.gate) Weights("dzeta", p_.head_dim);
    if (p_.reduce) Weights("dphi", p_.head_dim);
    if (p_.norm_epsilon) {
      Add("dnorm_weight", Lane::kF32, {1, p_.heads, 1, p_.head_dim},
          {nullptr, "h", nullptr, "p"}, {p_.heads, p_.head_dim}, 1);
    }
  }
  void AddCarry() {
    const auto [h, r, n, c] =
        std::array{p_.heads, p_.ranks, p_.state_dim, p_.head_dim};
    if (p_.angles > 0) {
      Add("dinit_theta", Lane::kF32, {runs_, h, 1, p_.angles},
          {"run", "h", nullptr, "s"}, {runs_, h, p_.angles}, 1);
    }
    Add("dinit_h", Lane::kF32, {runs_, h, c, n}, {"run", "h", "p", "n"}, {}, 2);
    Add("dinit_k", Lane::kF32, {runs_, r, h, n}, {"run", "r", "h", "n"}, {}, 2);
    Add("dinit_v", Lane::kF32, {runs_, h, 1, c}, {"run", "h", nullptr, "p"},
        {runs_, h, c}, 1);
  }

  const Mamba3ScanProblem& p_;
  Lane lane_;
  int64_t runs_;
  std::vector<OutputSpec> specs_;
};

}  // namespace

GradientPlace PlaceOf(const OutputSpec& spec) {
  if (HasAxis(spec, "run")) return GradientPlace::kCarry;
  return HasAxis(spec, "b") ? GradientPlace::kToken : GradientPlace::kWeight;
}

bool OfGroups(const OutputSpec& spec) { return HasAxis(spec, "g"); }

std::vector<OutputSpec> GradientSpecs(const Mamba3ScanBackwardProblem& problem,
                                      int64_t runs) {
  return Specs(problem, runs).Take();
}

Mamba3ScanBackwardOutputs GradientViews(
    const Mamba3ScanBackwardProblem& problem,
    const std::vector<OutputSpec>& specs, const OutputSet& outputs) {
  const Mamba3ScanProblem& p = problem.forward;
  const auto of = [&](std::string_view name) -> MutableLaneView {
    for (size_t t = 0; t < specs.size(); ++t) {
      if (specs[t].name == name) return outputs.tensors[t].view;
    }
    return {};
  };
  const auto weights = [&](const char* name) {
    return Floats<3>(of(name), {1, 2, 3});
  };
  Mamba3ScanBackwardOutputs out;
  out.dv = of("dv");
  out.dq = Ranked(of("dq"), p.ranks);
  out.dk = Ranked(of("dk"), p.ranks);
  out.da = Floats<3>(of("da"), {0, 1, 2});
  out.ddt = Floats<3>(of("ddt"), {0, 1, 2});
  out.dtau = Times(of("dtau"));
  if (p.angles > 0) out.dvartheta = of("dvartheta");
  if (p.gate) out.dz = of("dz");
  if (p.bias) {
    out.dbq = weights("dbq");
    out.dbk = weights("dbk");
  }
  if (p.skip) out.dd = Floats<1>(of("dd"), {1});
  if (p.mimo()) out.dpsi = weights("dpsi");
  if (p.mimo() && p.gate) out.dzeta = weights("dzeta");
  if (p.reduce) out.dphi = weights("dphi");
  if (p.norm_epsilon) {
    out.dnorm_weight = Floats<2>(of("dnorm_weight"), {1, 3});
  }
  if (!p.carry_in) return out;
  out.dcarry = {Floats<3>(of("dinit_theta"), {0, 1, 3}),
                Floats<4>(of("dinit_h"), {0, 1, 2, 3}),
                Floats<4>(of("dinit_k"), {0, 1, 2, 3}),
                Floats<3>(of("dinit_v"), {0, 1, 3})};
  // A theta without angles is no tensor, but has its shape.
  if (p.angles == 0) {
    out.dcarry.theta.shape = {out.dcarry.h.shape[0], p.heads, 0};
  }
  return out;
}

std::vector<NamedOutput> NameOutputs(const Mamba3ScanBackwardOutputs& outputs) {
  std::vector<NamedOutput> named;
  const auto add = [&](const char* name, const auto& x) {
    if (x.data != nullptr) named.push_back(NameOutput(name, x));
  };
  add("dv", outputs.dv);
  add("dq", outputs.dq);
  add("dk", outputs.dk);
  add("da", outputs.da);
  add("ddt", outputs.ddt);
  add("dtau", outputs.dtau);
  add("dvartheta", outputs.dvartheta);
  add("dz", outputs.dz);
  add("dbq", outputs.dbq);
  add("dbk", outputs.dbk);
  add("dd", outputs.dd);
  add("dpsi", outputs.dpsi);
  add("dzeta", outputs.dzeta);
  add("dphi", outputs.dphi);
  add("dnorm_weight", outputs.dnorm_weight);
  add("dinit_theta", outputs.dcarry.theta);
  add("dinit_h", outputs.dcarry.h);
  add("dinit_k", outputs.dcarry.k);
  add("dinit_v", outputs.dcarry.v);
  return named;
}

}  // namespace lockstep::verify
