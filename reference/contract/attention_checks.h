// What Validate() of every op on attention checks.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_CHECKS_H_
#define LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_CHECKS_H_

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::checks {

// Validate(problem), and that the inputs agree with the problem: shapes, lanes,
// strides >= 0, presence, valid counts.
Status CheckAttentionInputs(const AttentionForwardProblem& problem,
                            const AttentionForwardInputs& inputs);

}  // namespace lockstep::checks

#endif  // LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_CHECKS_H_
