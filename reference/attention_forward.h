// attention_forward, by definition: one row at a time, scalar, one thread.
#ifndef LOCKSTEP_REFERENCE_ATTENTION_FORWARD_H_
#define LOCKSTEP_REFERENCE_ATTENTION_FORWARD_H_

#include <cstdint>
#include <span>

#include "reference/contract/attention_forward.h"
#include "reference/contract/attention_states.h"
#include "reference/contract/status.h"

namespace lockstep::reference {

// One output row: (batch, query head, query).
struct AttentionRow {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t query = 0;
};

// o [value_dim] of the row, rounded to the problem's lane and carried in f32,
// and its lse. Exact: N3, N7-N13.
//   Errors: Validate(problem)'s; a row out of range; another extent of o; lse
//   is null. Requires: tensors that are there and have the shapes that
//   Validate(problem, inputs, outputs) wants.
Status AttentionForwardRow(const AttentionForwardProblem& problem,
                           const AttentionForwardInputs& inputs,
                           const AttentionRow& row, std::span<float> o,
                           float* lse);

// All rows. o [batch, q_heads, q_len, value_dim], lse [batch, q_heads, q_len].
//   Errors: Validate(problem, inputs, outputs)'s; nothing is written then.
Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs,
                        const AttentionForwardOutputs& outputs);

// N24: writes the states of all rows in place of o and lse.
//   Errors: those of Validate(problem, inputs, states); nothing is written
//   then.
Status AttentionForwardStates(const AttentionForwardProblem& problem,
                              const AttentionForwardInputs& inputs,
                              WeightSize size, const AttentionStates& states);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_ATTENTION_FORWARD_H_
