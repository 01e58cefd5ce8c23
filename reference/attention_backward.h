// attention_backward, by definition: one row at a time, scalar, one thread.
#ifndef LOCKSTEP_REFERENCE_ATTENTION_BACKWARD_H_
#define LOCKSTEP_REFERENCE_ATTENTION_BACKWARD_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_backward.h"
#include "reference/contract/status.h"

namespace lockstep::reference {

// dq [batch, q_heads, q_len, head_dim], dk [batch, kv_heads, kv_len, head_dim],
// dv [batch, kv_heads, kv_len, value_dim], dsink [q_heads]. Exact: N18.
//   Errors: Validate(problem, inputs, outputs)'s; nothing is written then.
Status AttentionBackward(const AttentionBackwardProblem& problem,
                         const AttentionBackwardInputs& inputs,
                         const AttentionBackwardOutputs& outputs);

// Parts of it, with the same bits, widened to f32: for callers that want a few.
//   Requires, of all three: Validate(problem, inputs, ...).ok(), indices in
//   range; a sink for the last.
// dq of query i of head h.
std::vector<float> AttentionBackwardQuery(
    const AttentionBackwardProblem& problem,
    const AttentionBackwardInputs& inputs, int64_t b, int64_t h, int64_t i);
// dk and dv of key j of a key head.
struct KeyGradients {
  std::vector<float> dk, dv;
};
KeyGradients AttentionBackwardKey(const AttentionBackwardProblem& problem,
                                  const AttentionBackwardInputs& inputs,
                                  int64_t b, int64_t kv_head, int64_t j);
// dsink of head h.
float AttentionBackwardSink(const AttentionBackwardProblem& problem,
                            const AttentionBackwardInputs& inputs, int64_t h);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_ATTENTION_BACKWARD_H_
