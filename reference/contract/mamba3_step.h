// What a step of decoding requires of its arguments in addition to Validate()
// of its op.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_STEP_H_
#define LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_STEP_H_

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"

namespace lockstep {

// Validate(problem, inputs, outputs), and what a step of decoding needs: length
// 1, every row a run, a carry that comes in and one that goes out.
Status ValidateStep(const Mamba3ScanProblem& problem,
                    const Mamba3ScanInputs& inputs,
                    const Mamba3ScanOutputs& outputs);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_STEP_H_
