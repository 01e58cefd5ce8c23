// The pairs of calls of the claims of attention's gradients.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_CLAIMS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_CLAIMS_H_

#include "verify/ops/claims.h"

namespace lockstep::verify {

const OpClaims& AttentionBackwardClaims();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_BACKWARD_CLAIMS_H_
