#include "verify/ops/attention_forward/witness_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "verify/base/status_macros.h"

namespace lockstep::verify {
namespace {

// Binary64 sums of up to 2^14 squares, and a root, are good to 2^-38.
constexpr double kRoundUp = 1 + 0x1p-30;

// Calls visit(flat (b, h, i), row's first element, its channels' stride).
template <typename T, typename Visit>
void ForRows(const BasicLaneView<const void>& x, const Visit& visit) {
  const auto view = x.As<T>();
  int64_t row = 0;
  for (int64_t b = 0; b < x.shape[0]; ++b) {
    for (int64_t h = 0; h < x.shape[1]; ++h) {
      for (int64_t i = 0; i < x.shape[2]; ++i, ++row) {
        visit(row, &view(b, h, i, 0), x.strides[3]);
      }
    }
  }
}

// Copies x [b, h, n, d] to the first d channels of the dense `to`.
void Widen(const LaneView& x, const LaneTensor& to) {
  auto* const base = static_cast<float*>(to.view.data);
  const int64_t channels = to.view.shape[3];
  const auto copy = [&](int64_t row, const auto* from, int64_t step) {
    float* const out = base + row * channels;
    for (int64_t c = 0; c < x.shape[3]; ++c) out[c] = ToFloat(from[c * step]);
  };
  WithAnyLane(x.lane,
              [&](auto element) { ForRows<decltype(element)>(x, copy); });
}

const float* RowOf(const LaneTensor& x, int64_t row) {
  return static_cast<const float*>(x.view.data) + row * x.view.shape[3];
}

double NormOf(const LaneTensor& x, int64_t row) {
  const float* const from = RowOf(x, row);
  double sum = 0;
  for (int64_t c = 0; c < x.view.shape[3]; ++c) {
    sum += static_cast<double>(from[c]) * static_cast<double>(from[c]);
  }
  return std::sqrt(sum) * kRoundUp;
}

// The larger one; not finite if either is.
double Larger(double a, double b) {
  return std::isfinite(a) && !(b <= a) ? b : a;
}

// |v| beside v. Returns the largest of the row.
double AddSizes(const LaneTensor& v, int64_t row) {
  const int64_t half = v.view.shape[3] / 2;
  float* const at = static_cast<float*>(v.view.data) + row * v.view.shape[3];
  double largest = 0;
  for (int64_t c = 0; c < half; ++c) {
    at[half + c] = std::fabs(at[c]);
    largest = Larger(largest, static_cast<double>(at[half + c]));
  }
  return largest;
}

bool AllFinite(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(),
                     [](double value) { return std::isfinite(value); });
}

void Measure(const AttentionForwardProblem& p, WitnessInputs* to) {
  const auto heads = static_cast<size_t>(p.batch * p.kv_heads);
  to->q_norm.resize(static_cast<size_t>(p.batch * p.q_heads * p.q_len));
  for (size_t row = 0; row < to->q_norm.size(); ++row) {
    to->q_norm[row] = NormOf(to->q, static_cast<int64_t>(row));
  }
  to->k_norm.assign(heads, 0);
  to->value.assign(heads, 0);
  for (size_t head = 0; head < heads; ++head) {
    for (int64_t j = 0; j < p.kv_len; ++j) {
      const int64_t row = static_cast<int64_t>(head) * p.kv_len + j;
      to->k_norm[head] = Larger(to->k_norm[head], NormOf(to->k, row));
      to->value[head] = Larger(to->value[head], AddSizes(to->v, row));
    }
  }
  to->finite =
      AllFinite(to->q_norm) && AllFinite(to->k_norm) && AllFinite(to->value);
  for (int64_t h = 0; p.sink && h < p.q_heads; ++h) {
    to->finite = to->finite && to->inputs.sink(h) < HUGE_VALF;
  }
}

}  // namespace

Result<WitnessInputs> WidenForWitness(const AttentionForwardProblem& problem,
                                      const AttentionForwardInputs& inputs) {
  WitnessInputs to;
  to.problem = problem;
  to.problem.lane = to.problem.p_lane = Lane::kF32;
  to.problem.order = ProductOrder::kChain;
  to.problem.split = 1;
  to.problem.kv_lane.reset();
  to.problem.q_lane.reset();
  to.problem.k_scales = to.problem.v_scales = to.problem.q_scales = {};
  to.problem.v_in_k = false;
  to.problem.value_dim = 2 * problem.value_dim;
  to.inputs = inputs;
  to.inputs.k_scale = to.inputs.v_scale = to.inputs.q_scale = {};
  const auto widen = [](const LaneView& x, int64_t times, LaneTensor* tensor) {
    std::array<int64_t, 4> shape = x.shape;
    shape[3] *= times;
    ASSIGN_OR_RETURN(
        LaneTensor made,
        AllocateLaneTensor(Lane::kF32, shape, DenseStrides(shape), 0));
    *tensor = std::move(made);
    Widen(x, *tensor);
    return Status();
  };
  for (const Status& status :
       {widen(inputs.q, 1, &to.q), widen(inputs.k, 1, &to.k),
        widen(inputs.v, 2, &to.v)}) {
    if (!status.ok()) return status;
  }
  Measure(problem, &to);
  to.inputs.q = to.q.const_view();
  to.inputs.k = to.k.const_view();
  to.inputs.v = to.v.const_view();
  return to;
}

}  // namespace lockstep::verify
