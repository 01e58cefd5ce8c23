// mamba3_scan, by definition: one token after the other, scalar, one thread.
#ifndef LOCKSTEP_REFERENCE_MAMBA3_SCAN_H_
#define LOCKSTEP_REFERENCE_MAMBA3_SCAN_H_

#include "reference/contract/mamba3_scan.h"

namespace lockstep::reference {

// y of every token and, where the outputs ask for it, the carry of every run.
// An empty run passes its carry on unchanged (zeros without one). Exact: N15.
//   Requires: Validate(problem, inputs, outputs).ok().
void Mamba3Scan(const Mamba3ScanProblem& problem,
                const Mamba3ScanInputs& inputs,
                const Mamba3ScanOutputs& outputs);

// One token of every row, from carry to carry: decoding. A chain of steps gives
// the bits of one scan, whatever memory holds the carry.
//   Requires: as above, length 1, Runs::kRows, carry_in, an exported carry.
void Mamba3Step(const Mamba3ScanProblem& problem,
                const Mamba3ScanInputs& inputs,
                const Mamba3ScanOutputs& outputs);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_MAMBA3_SCAN_H_
