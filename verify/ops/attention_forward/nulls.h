// An attention problem with one of its features left out: what nulls compute,
// of the forward op and of its gradients.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_NULLS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_NULLS_H_

#include <vector>

#include "reference/contract/attention_forward.h"

namespace lockstep::verify {

struct WeakerAttention {
  const char* name;  // "unmasked", "mask_off_by_one", "no_softcap", ...
  AttentionForwardProblem problem;
  AttentionForwardInputs inputs;
};

// One for each feature that the problem has.
std::vector<WeakerAttention> WithoutOneFeature(
    const AttentionForwardProblem& problem,
    const AttentionForwardInputs& inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_NULLS_H_
