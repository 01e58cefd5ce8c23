// What every mask means: brute force over one (query, key) pair.
#ifndef LOCKSTEP_REFERENCE_MASK_H_
#define LOCKSTEP_REFERENCE_MASK_H_

#include <cstdint>

#include "reference/contract/attention_forward.h"

namespace lockstep::reference {

// Whether query i of head h of batch row b sees key j: the head's mask tree,
// AND equal segment ids, AND both below the valid counts.
//   Source: docs/ops/attention_forward.md, "Masks".
//   Requires: Validate(problem, inputs, ...).ok(), indices in range.
bool IsVisible(const AttentionForwardProblem& problem,
               const AttentionForwardInputs& inputs, int64_t b, int64_t h,
               int64_t i, int64_t j);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_MASK_H_
