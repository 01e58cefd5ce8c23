// mamba3_scan_backward, by definition: a run's tokens from the last to the
// first, scalar, one thread.
#ifndef LOCKSTEP_REFERENCE_MAMBA3_SCAN_BACKWARD_H_
#define LOCKSTEP_REFERENCE_MAMBA3_SCAN_BACKWARD_H_

#include <cstdint>

#include "reference/contract/mamba3_scan_backward.h"
#include "reference/contract/status.h"

namespace lockstep::reference {

// The gradients of all inputs. Exact: N19. The forward pass runs again from
// states that are kept every `checkpoint` tokens of a run. So T / c + c states
// of one head are in memory. 0 takes about the square root of the run's length.
// The choice changes no bit.
//   Errors: Validate(problem, inputs, outputs)'s; nothing is written then.
//   Requires: checkpoint >= 0.
Status Mamba3ScanBackward(const Mamba3ScanBackwardProblem& problem,
                          const Mamba3ScanBackwardInputs& inputs,
                          const Mamba3ScanBackwardOutputs& outputs,
                          int64_t checkpoint = 0);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_MAMBA3_SCAN_BACKWARD_H_
