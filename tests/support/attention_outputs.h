// Memory for what attention_forward writes, for tests without a trial.
#ifndef LOCKSTEP_TESTS_SUPPORT_ATTENTION_OUTPUTS_H_
#define LOCKSTEP_TESTS_SUPPORT_ATTENTION_OUTPUTS_H_

#include <array>
#include <cstdint>
#include <utility>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// The outputs of one case, poisoned; `lse` is dense f32 [b, h, s].
struct AttentionForwardOutputBuffers {
  LaneTensor o;
  LaneTensor lse;  // shape [b, h, s, 1]

  AttentionForwardOutputs view() const;
  bool GuardsIntact() const;  // and padding
  int64_t Unwritten() const;  // elements of o and lse still poisoned
};

inline AttentionForwardOutputs AttentionForwardOutputBuffers::view() const {
  const auto& shape = lse.view.shape;
  const auto& strides = lse.view.strides;
  AttentionForwardOutputs outputs;
  outputs.o = o.view;
  outputs.lse = {static_cast<float*>(lse.view.data),
                 {shape[0], shape[1], shape[2]},
                 {strides[0], strides[1], strides[2]}};
  return outputs;
}

inline bool AttentionForwardOutputBuffers::GuardsIntact() const {
  return o.buffer.GuardsIntact() && PaddingIntact(o) &&
         lse.buffer.GuardsIntact() && PaddingIntact(lse);
}

inline int64_t AttentionForwardOutputBuffers::Unwritten() const {
  return CountPoison(o) + CountPoison(lse);
}

// Requires: ValidateCase passes. `shift`: elements that buffers are moved by.
inline Result<AttentionForwardOutputBuffers> AllocateOutputs(
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

#endif  // LOCKSTEP_TESTS_SUPPORT_ATTENTION_OUTPUTS_H_
