// lockstep identify of attention_backward.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_BACKWARD_IDENTIFY_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_BACKWARD_IDENTIFY_H_

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/identify/identify.h"

namespace lockstep::verify {

Result<Identified> IdentifyGradients(const IdentifyRequest& request,
                                     Candidate& candidate);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_BACKWARD_IDENTIFY_H_
