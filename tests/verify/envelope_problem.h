// Small attention problems with their memory, for the tests of the oracle, the
// envelopes and the probes. Values come from a fixed integer generator.
#ifndef LOCKSTEP_TESTS_VERIFY_ENVELOPE_PROBLEM_H_
#define LOCKSTEP_TESTS_VERIFY_ENVELOPE_PROBLEM_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/elementary.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// splitmix64: the same numbers everywhere.
class TestRandom {
 public:
  explicit TestRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t x = (state_ += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  // Uniform in 0..n-1.
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(Next() % static_cast<uint64_t>(n));
  }
  // About normal: the sum of four uniforms, deviation 1.
  double Normal() {
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      sum += static_cast<double>(Next() >> 11) * 0x1p-53 - 0.5;
    }
    return sum * 1.7320508075688772;
  }

 private:
  uint64_t state_;
};

// A problem whose tensors live in it. Do not copy once views were taken.
struct TestProblem {
  AttentionForwardProblem problem;
  std::array<std::vector<float>, 3> f32;  // q, k, v
  std::array<std::vector<Bf16>, 3> bf16;
  std::vector<int32_t> q_seg, kv_seg;
  std::vector<float> sink;
  std::vector<uint8_t> dense;
  AttentionForwardInputs inputs;
  std::vector<float> o_f32, lse;
  std::vector<Bf16> o_bf16;
  AttentionForwardOutputs outputs;

  // Sets element `at` of tensor t (0 q, 1 k, 2 v), rounded to the lane.
  void Set(size_t t, size_t at, double x) {
    if (problem.lane == Lane::kF32) {
      f32[t][at] = static_cast<float>(x);
    } else {
      bf16[t][at] = reference::RoundToBf16(static_cast<float>(x));
    }
  }
  double GetOutput(size_t at) const {
    return static_cast<double>(
        problem.lane == Lane::kF32 ? o_f32[at] : ToFloat(o_bf16[at]));
  }
  void SetOutput(size_t at, double x) {
    if (problem.lane == Lane::kF32) {
      o_f32[at] = static_cast<float>(x);
    } else {
      o_bf16[at] = reference::RoundToBf16(static_cast<float>(x));
    }
  }
  size_t elements(size_t t) const {
    return problem.lane == Lane::kF32 ? f32[t].size() : bf16[t].size();
  }

  // Allocates what `problem` needs and takes the views.
  void Allocate() {
    const AttentionForwardProblem& p = problem;
    const std::array<std::array<int64_t, 4>, 4> shapes = {
        {{p.batch, p.q_heads, p.q_len, p.head_dim},
         {p.batch, p.kv_heads, p.kv_len, p.head_dim},
         {p.batch, p.kv_heads, p.kv_len, p.value_dim},
         {p.batch, p.q_heads, p.q_len, p.value_dim}}};
    const auto count = [](const std::array<int64_t, 4>& s) {
      return static_cast<size_t>(s[0] * s[1] * s[2] * s[3]);
    };
    const bool wide = p.lane == Lane::kF32;
    std::array<LaneView*, 3> views = {&inputs.q, &inputs.k, &inputs.v};
    for (size_t t = 0; t < 3; ++t) {
      f32[t].assign(wide ? count(shapes[t]) : 0, 0.0f);
      bf16[t].assign(wide ? 0 : count(shapes[t]), Bf16{});
      views[t]->data = wide ? static_cast<const void*>(f32[t].data())
                            : static_cast<const void*>(bf16[t].data());
      views[t]->lane = p.lane;
      views[t]->shape = shapes[t];
      views[t]->strides = DenseStrides(shapes[t]);
    }
    o_f32.assign(wide ? count(shapes[3]) : 0, 0.0f);
    o_bf16.assign(wide ? 0 : count(shapes[3]), Bf16{});
    lse.assign(static_cast<size_t>(p.batch * p.q_heads * p.q_len), 0.0f);
    outputs.o.data = wide ? static_cast<void*>(o_f32.data())
                          : static_cast<void*>(o_bf16.data());
    outputs.o.lane = p.lane;
    outputs.o.shape = shapes[3];
    outputs.o.strides = DenseStrides(shapes[3]);
    outputs.lse.data = lse.data();
    outputs.lse.shape = {p.batch, p.q_heads, p.q_len};
    outputs.lse.strides = DenseStrides(outputs.lse.shape);
    if (p.segments) {
      q_seg.assign(static_cast<size_t>(p.batch * p.q_len), 0);
      kv_seg.assign(static_cast<size_t>(p.batch * p.kv_len), 0);
      inputs.q_seg = {q_seg.data(), {p.batch, p.q_len}, {p.q_len, 1}};
      inputs.kv_seg = {kv_seg.data(), {p.batch, p.kv_len}, {p.kv_len, 1}};
    }
    if (p.sink) {
      sink.assign(static_cast<size_t>(p.q_heads), 0.0f);
      inputs.sink = {sink.data(), {p.q_heads}, {1}};
    }
  }

  LaneView ProducedO() const {
    return {outputs.o.data, outputs.o.lane, outputs.o.shape, outputs.o.strides};
  }
  TensorView<const float, 3> ProducedLse() const {
    return {outputs.lse.data, outputs.lse.shape, outputs.lse.strides};
  }
};

// Any mask, shape, lane, cap, sink, segments, valid counts; small.
inline void RandomProblem(uint64_t seed, TestProblem* t) {
  TestRandom random(seed);
  AttentionForwardProblem& p = t->problem;
  p.batch = 1 + random.Below(2);
  p.kv_heads = 1 + random.Below(2);
  p.q_heads = p.kv_heads * (1 + random.Below(2));
  p.q_len = 1 + random.Below(20);
  p.kv_len = 1 + random.Below(random.Below(4) == 0 ? 150 : 30);
  p.head_dim = 1 + random.Below(24);
  p.value_dim = 1 + random.Below(20);
  p.lane = random.Below(2) != 0 ? Lane::kF32 : Lane::kBf16;
  p.p_lane = random.Below(2) != 0 ? Lane::kF32 : Lane::kBf16;
  p.scale = 1 / std::sqrt(static_cast<double>(p.head_dim));
  const double caps[] = {0, 0.5, 2, 30, 50, 1e4};
  const double cap = caps[random.Below(6)];
  if (cap != 0) p.softcap = cap;
  p.sink = random.Below(4) == 0;
  p.segments = random.Below(3) == 0;
  const int64_t align = random.Below(3);
  p.align.kind = static_cast<Alignment::Kind>(align);
  if (align == 2) p.align.offset = random.Below(40) - 20;
  const auto term = [&] {
    MaskExpr m;
    switch (random.Below(7)) {
      case 0:
        m.kind = MaskExpr::Kind::kCausal;
        break;
      case 1:
        m.kind = MaskExpr::Kind::kWindow;
        m.left = random.Below(8) - 1;
        m.right = random.Below(4) - 1;
        break;
      case 2:
        m.kind = MaskExpr::Kind::kChunked;
        m.chunk = 1 + random.Below(9);
        break;
      case 3:
        m.kind = MaskExpr::Kind::kPrefix;
        m.prefix = {random.Below(9)};
        break;
      case 4:
        m.kind = MaskExpr::Kind::kSink;
        m.tokens = random.Below(5);
        break;
      case 5:
        m.kind = MaskExpr::Kind::kDense;
        break;
      default:
        break;
    }
    return m;
  };
  MaskExpr mask = term();
  if (random.Below(2) != 0) {
    MaskExpr tree;
    tree.kind =
        random.Below(2) != 0 ? MaskExpr::Kind::kAnd : MaskExpr::Kind::kOr;
    tree.children = {mask, term()};
    mask = tree;
  }
  p.masks = {mask};
  t->Allocate();
  t->dense.resize(static_cast<size_t>(p.q_len * p.kv_len));
  for (uint8_t& bit : t->dense) bit = random.Below(3) != 0;
  t->inputs.dense_masks = {
      {t->dense.data(),
       {1, 1, p.q_len, p.kv_len},
       {p.q_len * p.kv_len, p.q_len * p.kv_len, p.kv_len, 1}}};
  const double spread[] = {0.1, 1, 1, 4, 20};
  const double q_scale = spread[random.Below(5)];
  const double mean = random.Below(3) == 0 ? 2 : 0;
  for (size_t n = 0; n < 3; ++n) {
    for (size_t i = 0; i < t->elements(n); ++i) {
      t->Set(n, i,
             random.Normal() * (n == 0 ? q_scale : 1) + (n == 2 ? mean : 0));
    }
  }
  for (auto* ids : {&t->q_seg, &t->kv_seg}) {
    int32_t id = 0;
    for (int32_t& x : *ids) {
      if (random.Below(6) == 0) id = static_cast<int32_t>(random.Below(3));
      x = id;
    }
  }
  for (float& s : t->sink) s = static_cast<float>(random.Normal() * 3);
  if (random.Below(4) == 0) {
    for (int64_t b = 0; b < p.batch; ++b) {
      t->inputs.valid_q.push_back(random.Below(p.q_len + 1));
      t->inputs.valid_kv.push_back(random.Below(p.kv_len + 1));
    }
  }
}

inline bool Fits(const NumericProfile& profile, const TestProblem& t) {
  return !profile.lane || *profile.lane == t.problem.lane;
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_ENVELOPE_PROBLEM_H_
