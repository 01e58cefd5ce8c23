#include "verify/inputs/attention_forward/numbers.h"

#include <cstddef>
#include <utility>

#include "reference/contract/key_scales.h"

namespace lockstep::verify {
namespace {

// Writes the values of `bytes` to `made`, and returns a view of them.
LaneView NumbersOf(const AttentionForwardData& data, const LaneView& bytes,
                   const KeyScales& scales, const KeyScaleView& values,
                   std::vector<float>* made) {
  const auto [batch, heads, keys, channels] = bytes.shape;
  made->reserve(static_cast<size_t>(batch * heads * keys * channels));
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t there = data.inputs.ValidKv(data.problem, b);
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
  AttentionForwardInputs& in = numbers.data.inputs;
  in.k = NumbersOf(data, data.inputs.k, data.problem.k_scales, in.k_scale,
                   &numbers.k);
  in.v = NumbersOf(data, data.inputs.v, data.problem.v_scales, in.v_scale,
                   &numbers.v);
  return numbers;
}

}  // namespace lockstep::verify
