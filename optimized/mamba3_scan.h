// mamba3_scan, fast: lanes over the channels p, one head of one run at a time,
// threads over both; the same bits as reference/mamba3_scan.h on every target.
#ifndef LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_H_
#define LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_H_

#include <string>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// What the caller insists on; empty or 0: the best there is.
struct Mamba3ScanCaps {
  std::string target;  // "AVX2", "AVX3", ...
  int threads = 0;     // > 0: at most so many
};

// What really ran.
struct Mamba3ScanExecution {
  std::string target;
  int threads = 0;
};

// y and, where asked for, the carry of every run. A problem of length 1 with a
// carry is a step of decoding. Memory beside the tensors: one head's state and
// a few tokens for each thread. Exact class (N15). `execution` may be null.
// Errors: the target is unknown, or not supported by this CPU.
// Requires: Validate(problem, inputs, outputs).ok().
Status Mamba3Scan(const Mamba3ScanProblem& problem,
                  const Mamba3ScanInputs& inputs, const Mamba3ScanCaps& caps,
                  const Mamba3ScanOutputs& outputs,
                  Mamba3ScanExecution* execution);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_H_
