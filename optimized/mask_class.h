// Masks brought to one form without a change of meaning, so that requests that
// mean the same share a plan key. What cannot be proven equal stays as it is:
// nothing is approximated.
#ifndef LOCKSTEP_OPTIMIZED_MASK_CLASS_H_
#define LOCKSTEP_OPTIMIZED_MASK_CLASS_H_

#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"

namespace lockstep::optimized {

// The mask of one head of the problem in its form:
//   - a side of a window that no pair in range reaches is unlimited; beside
//     causal, a right side is, too;
//   - a window without sides is full, and full leaves "and" and swallows "or";
//   - equal terms of "and" and "or" are one; inner ones of one kind are opened.
// It shows the same pairs for every payload the problem allows: lengths and
// alignment are all that is used.
MaskExpr NormalMask(const AttentionForwardProblem& problem,
                    const MaskExpr& mask);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_MASK_CLASS_H_
