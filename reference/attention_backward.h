// attention_backward, by definition: one row at a time, scalar, one thread.
#ifndef LOCKSTEP_REFERENCE_ATTENTION_BACKWARD_H_
#define LOCKSTEP_REFERENCE_ATTENTION_BACKWARD_H_

#include "reference/contract/attention_backward.h"
#include "reference/contract/status.h"

namespace lockstep::reference {

// dq [batch, q_heads, q_len, head_dim], dk [batch, kv_heads, kv_len, head_dim],
// dv [batch, kv_heads, kv_len, value_dim], dsink [q_heads]. Exact: N18.
//   Errors: Validate(problem, inputs, outputs)'s; nothing is written then.
Status AttentionBackward(const AttentionBackwardProblem& problem,
                         const AttentionBackwardInputs& inputs,
                         const AttentionBackwardOutputs& outputs);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_ATTENTION_BACKWARD_H_
