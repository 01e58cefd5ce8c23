// Asks a kernel of attention, probe by probe.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_IDENTIFY_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_IDENTIFY_H_

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/identify/identify.h"

namespace lockstep::verify {

// Errors: the kernel has no answer to the first question.
Result<Identified> IdentifyAttention(const IdentifyRequest& request,
                                     Candidate& candidate);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_IDENTIFY_H_
