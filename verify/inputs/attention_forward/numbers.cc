#include "verify/inputs/attention_forward/numbers.h"

#include <cstddef>
#include <utility>

#include "reference/contract/key_scales.h"

namespace lockstep::verify {
namespace {

// Writes the values of `bytes` to `made`, and returns a view of them. Batch row
// b has `valid(b)` keys, or queries.
template <class Valid>
LaneView NumbersOf(const LaneView& bytes, const KeyScales& scales,
                   const KeyScaleView& values, const Valid& valid,
                   std::vector<float>* made) {
  const auto [batch, heads, keys, channels] = bytes.shape;
  made->reserve(static_cast<size_t>(batch * heads * keys * channels));
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t there = valid(b);
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t j = 0; j < keys; ++j) {
        const float scale =
            j < there ? KeyScaleOf(scales, values, b, h, j) : 1.0f;
        for (int64_t c = 0; c < channels; ++c) {
          made->push_back(bytes.Float(b, h, j, c) * scale);
        }
      }
    }
  }
  return {made->data(), Lane::kF32, bytes.shape, DenseStrides(bytes.shape)};
}

}  // namespace

KeyNumbers MakeNumbers(const AttentionForwardData& data) {
  KeyNumbers numbers;
  numbers.data.problem = data.problem;
  numbers.data.inputs = data.inputs;
  const AttentionForwardProblem& p = data.problem;
  const AttentionForwardInputs& from = data.inputs;
  const auto keys = [&](int64_t b) { return from.ValidKv(p, b); };
  const auto queries = [&](int64_t b) { return from.ValidQ(p, b); };
  AttentionForwardInputs& in = numbers.data.inputs;
  in.k = NumbersOf(from.k, p.k_scales, in.k_scale, keys, &numbers.k);
  in.v = NumbersOf(from.v, p.v_scales, in.v_scale, keys, &numbers.v);
  if (!p.q_lane) return numbers;
  in.q = NumbersOf(from.q, p.q_scales, in.q_scale, queries, &numbers.q);
  return numbers;
}

}  // namespace lockstep::verify
