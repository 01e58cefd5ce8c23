#include "verify/inputs/attention_forward_outputs.h"

#include <array>
#include <utility>

#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {

AttentionForwardOutputs AttentionForwardOutputBuffers::view() const {
  const auto& shape = lse.view.shape;
  const auto& strides = lse.view.strides;
  AttentionForwardOutputs outputs;
  outputs.o = o.view;
  outputs.lse = {static_cast<float*>(lse.view.data),
                 {shape[0], shape[1], shape[2]},
                 {strides[0], strides[1], strides[2]}};
  return outputs;
}

void AttentionForwardOutputBuffers::Poison() {
  verify::Poison(o);
  verify::Poison(lse);
}

bool AttentionForwardOutputBuffers::GuardsIntact() const {
  return o.buffer.GuardsIntact() && PaddingIntact(o) &&
         lse.buffer.GuardsIntact() && PaddingIntact(lse);
}

int64_t AttentionForwardOutputBuffers::Unwritten() const {
  return CountPoison(o) + CountPoison(lse);
}

Result<AttentionForwardOutputBuffers> AllocateOutputs(
    const AttentionForwardCase& c, int64_t shift) {
  const std::array<int64_t, 4> shape{c.batch, c.q_heads, c.q_len, c.value_dim};
  const std::array<int64_t, 4> lse_shape{c.batch, c.q_heads, c.q_len, 1};
  AttentionForwardOutputBuffers outputs;
  auto o = AllocateLaneTensor(
      c.lane, shape, c.strides.o.value_or(LayoutStrides(c.layout, shape)),
      shift);
  if (!o.ok()) return o.status();
  auto lse =
      AllocateLaneTensor(Lane::kF32, lse_shape, DenseStrides(lse_shape), shift);
  if (!lse.ok()) return lse.status();
  outputs.o = std::move(o.value());
  outputs.lse = std::move(lse.value());
  return outputs;
}

}  // namespace lockstep::verify
