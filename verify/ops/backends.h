// How a run of this repository's own kernels begins and ends, whatever the op.
#ifndef LOCKSTEP_VERIFY_OPS_BACKENDS_H_
#define LOCKSTEP_VERIFY_OPS_BACKENDS_H_

#include <string>

#include "reference/contract/status.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

RunOutcome Failed(const std::string& message);

// What came of a run by the reference; `status`: what it returned.
RunOutcome RanReference(const Status& status, Execution* execution);

// A run of our own kernels; in the added lane, which they do not have, of the
// reference, which the receipt says.
RunOutcome RunOwnKernel(const Trial& trial, const Variation& how,
                        const OutputSet& outputs, Execution* execution);

// Whether the target that a variation wants, or without a wish any, runs here.
bool SupportsTarget(const Variation& how);

// In place of a run for which SupportsTarget() is false: unsupported where a
// target is wanted, otherwise the reference, which the receipt says.
RunOutcome RunWithoutTarget(const Trial& trial, const Variation& how,
                            const OutputSet& outputs, Execution* execution);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_BACKENDS_H_
