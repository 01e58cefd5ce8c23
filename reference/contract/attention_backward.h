// attention_backward: the gradients of attention_forward. The static problem,
// the inputs (tensors and runtime payload) and the outputs. Source:
// docs/ops/attention_backward.md; arithmetic: clause N18 of docs/numerics.md.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_BACKWARD_H_
#define LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_BACKWARD_H_

#include <cstdint>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {

// N18: the weight of a pair whose binary logarithm is less is +0, so that none
// is subnormal.
inline constexpr float kLeastWeightLog2 = -126.0f;

// The static contract: a change of any field is another kernel.
struct AttentionBackwardProblem {
  AttentionForwardProblem forward;  // order is kChain
  Lane grad_lane = Lane::kF32;      // of dq, dk and dv: forward.lane, or f32
  bool dlse = false;                // inputs carry the cotangent of lse
};

// Tensors and runtime payload; nothing here changes which kernel runs.
struct AttentionBackwardInputs {
  AttentionForwardInputs forward;
  LaneView o;                       // [batch, q_heads, q_len, value_dim], and
  TensorView<const float, 3> lse;   // [batch, q_heads, q_len]: as the forward
                                    // op wrote them
  LaneView d_o;                     // the cotangent of o, shape and lane of o
  TensorView<const float, 3> dlse;  // the cotangent of lse, shape of lse; null
                                    // without problem.dlse
};

struct AttentionBackwardOutputs {
  MutableLaneView dq;          // [batch, q_heads, q_len, head_dim]
  MutableLaneView dk;          // [batch, kv_heads, kv_len, head_dim]
  MutableLaneView dv;          // [batch, kv_heads, kv_len, value_dim]
  TensorView<float, 1> dsink;  // [q_heads]; null without forward.sink
};

// Refuses every problem that has no meaning, naming the field, its value and
// what would be right. Allocates nothing that grows with the extents.
Status Validate(const AttentionBackwardProblem& problem);

// The same, and that the tensors agree with the problem: shapes, lanes,
// strides (inputs >= 0, outputs without overlap), presence, valid counts.
Status Validate(const AttentionBackwardProblem& problem,
                const AttentionBackwardInputs& inputs,
                const AttentionBackwardOutputs& outputs);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_BACKWARD_H_
