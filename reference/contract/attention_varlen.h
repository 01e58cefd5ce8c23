// Ragged batches: the rows of a batch lie end to end along one axis of tokens,
// without padding. The mathematics is that of padded rows with counts
// (valid_q, valid_kv); only addresses differ.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_VARLEN_H_
#define LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_VARLEN_H_

#include <cstdint>

#include "reference/contract/attention_backward.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {

// The start of each row. Query i of batch row b is token cu_q(b) + i of q, o,
// lse, their cotangents and gradients. Key j is token cu_kv(b) + j of k, v and
// their gradients. The batch extent of these tensors is 1. A row may be empty.
// Tokens at or after the last entry are neither read nor written: they may hold
// anything.
struct VarlenRows {
  TensorView<const int32_t, 1> cu_q;   // [batch + 1], from 0, ascending
  TensorView<const int32_t, 1> cu_kv;  // likewise
};

// Views the tensor with the problem's axes: element (b, h, cu(b) + i, c) of the
// result is position i of row b.
template <typename View>
View RowsOfTokens(const View& tokens, int64_t batch, int64_t length) {
  View rows = tokens;
  rows.shape[0] = batch;
  rows.shape[2] = length;
  rows.strides[0] = 0;
  return rows;
}

// Views q, k, v, o and lse in this way.
AttentionForwardInputs RowsOfTokens(const AttentionForwardInputs& inputs,
                                    const AttentionForwardProblem& problem);
AttentionForwardOutputs RowsOfTokens(const AttentionForwardOutputs& outputs,
                                     const AttentionForwardProblem& problem);

// Checks that tensors, tables and counts fit the problem.
//   q is [1, q_heads, tokens, head_dim], and k, v, o and lse follow suit; each
//   has at least as many tokens as its table.
//   Row b has valid_q and valid_kv tokens in the tables.
//   k and v have contiguous channels. All else is as in the padded problem.
Status CheckVarlen(const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& inputs, const VarlenRows& rows,
                   const AttentionForwardOutputs& outputs);

// The same for gradients.
AttentionBackwardInputs RowsOfTokens(const AttentionBackwardInputs& inputs,
                                     const AttentionBackwardProblem& problem);
AttentionBackwardOutputs RowsOfTokens(const AttentionBackwardOutputs& outputs,
                                      const AttentionBackwardProblem& problem);
Status CheckVarlen(const AttentionBackwardProblem& problem,
                   const AttentionBackwardInputs& inputs,
                   const VarlenRows& rows,
                   const AttentionBackwardOutputs& outputs);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_VARLEN_H_
