// The pairs of calls of the claims of attention's gradients.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_CLAIMS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_CLAIMS_H_

#include "verify/inputs/attention_forward/pick.h"
#include "verify/ops/claims.h"

namespace lockstep::verify {

class AttentionBackwardTrial;  // verify/ops/attention_backward/trial.h
// The call on picked inputs of the whole, and the lines of it that they have.
// Errors: memory.
Result<LawCall> GradientCallOf(const AttentionBackwardTrial& whole,
                               const AttentionPick& pick);

const OpClaims& AttentionBackwardClaims();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_CLAIMS_H_
