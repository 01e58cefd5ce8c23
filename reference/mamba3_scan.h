// mamba3_scan, by definition: one token after the other, scalar, one thread.
#ifndef LOCKSTEP_REFERENCE_MAMBA3_SCAN_H_
#define LOCKSTEP_REFERENCE_MAMBA3_SCAN_H_

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"

namespace lockstep::reference {

// y of every token and, where the outputs ask for it, the carry of every run.
// An empty run passes its carry on unchanged (zeros without one). Exact: N15.
//   Errors: Validate(problem, inputs, outputs)'s; nothing is written then.
Status Mamba3Scan(const Mamba3ScanProblem& problem,
                  const Mamba3ScanInputs& inputs,
                  const Mamba3ScanOutputs& outputs);
// The same for callers that have asked, or that ask another question of the
// same tensors. Requires: Validate(problem, inputs, outputs).ok(), but for
// tensors that are there and that the problem does not ask for.
void ComputeMamba3Scan(const Mamba3ScanProblem& problem,
                       const Mamba3ScanInputs& inputs,
                       const Mamba3ScanOutputs& outputs);

// One token of every row, from carry to carry: decoding. A chain of steps gives
// the bits of one scan, whatever memory holds the carry.
//   Errors: as above, and ValidateStep's.
Status Mamba3Step(const Mamba3ScanProblem& problem,
                  const Mamba3ScanInputs& inputs,
                  const Mamba3ScanOutputs& outputs);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_MAMBA3_SCAN_H_
