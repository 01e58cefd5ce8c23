// What attention asks of a machine.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WORK_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WORK_H_

#include "reference/contract/attention_forward.h"

namespace lockstep::verify {

// Pairs of query and key that see each other, of all heads and batch rows.
double VisiblePairs(const AttentionForwardProblem& problem,
                    const AttentionForwardInputs& inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WORK_H_
