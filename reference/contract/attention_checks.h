// What Validate() of every op on attention checks.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_CHECKS_H_
#define LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_CHECKS_H_

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::checks {

// Validate(problem), and that the inputs agree with the problem: shapes, lanes,
// strides >= 0, presence, valid counts.
Status CheckAttentionInputs(const AttentionForwardProblem& problem,
                            const AttentionForwardInputs& inputs);

// Checks that the sink logits [q_heads] exist exactly if the problem has a
// sink.
Status CheckSink(const AttentionForwardProblem& problem,
                 const TensorView<const float, 1>& sink);

// Checks the lanes and the layouts of scales of q, k and v in fp8 (N25).
Status CheckFp8Lanes(const AttentionForwardProblem& problem);

// Checks the scales' tensors, and their numbers.
Status CheckScales(const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& inputs);

// Checks the shapes, lanes and strides of o and lse.
Status CheckAttentionOutputs(const AttentionForwardProblem& problem,
                             const AttentionForwardOutputs& outputs);

}  // namespace lockstep::checks

#endif  // LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_CHECKS_H_
