// Checks whether a case may have the exact probe that it asks for.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_PROBE_FILL_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_PROBE_FILL_H_

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {

// A probe's inputs prove something only unmodified, and for this problem.
Status CheckProbe(const AttentionForwardCase& c,
                  const AttentionForwardProblem& problem);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_PROBE_FILL_H_
