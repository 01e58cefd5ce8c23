// mamba3_scan_backward, fast: lanes over channels or states, threads over heads
// of runs; the same bits as reference/mamba3_scan_backward.h on every target.
#ifndef LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_BACKWARD_H_
#define LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_BACKWARD_H_

#include <cstdint>
#include <string>

#include "reference/contract/mamba3_scan_backward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// What the caller insists on; empty or 0: the best there is.
struct Mamba3ScanBackwardCaps {
  std::string target;      // "AVX2", "AVX3", ...
  int threads = 0;         // > 0: at most so many
  int64_t checkpoint = 0;  // > 0: tokens of a run between states that are kept
};

// What really ran.
struct Mamba3ScanBackwardExecution {
  std::string target;
  int threads = 0;
  int64_t checkpoint = 0;
};

// The gradients of all inputs. Memory beside the tensors: dq and dk in f32, and
// for each thread T / checkpoint + checkpoint states of one head, T the longest
// run. `execution` may be null. Exact: N19, whatever the caps.
// Errors: Validate(problem, inputs, outputs)'s; the target is unknown, or not
// supported by this CPU; checkpoint < 0. Nothing is written then.
Status Mamba3ScanBackward(const Mamba3ScanBackwardProblem& problem,
                          const Mamba3ScanBackwardInputs& inputs,
                          const Mamba3ScanBackwardCaps& caps,
                          const Mamba3ScanBackwardOutputs& outputs,
                          Mamba3ScanBackwardExecution* execution);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_BACKWARD_H_
