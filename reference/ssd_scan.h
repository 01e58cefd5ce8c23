// ssd_scan, by definition: mamba3_scan with lambda = 1 and nothing else.
#ifndef LOCKSTEP_REFERENCE_SSD_SCAN_H_
#define LOCKSTEP_REFERENCE_SSD_SCAN_H_

#include "reference/contract/ssd_scan.h"
#include "reference/contract/status.h"

namespace lockstep::reference {

// y of every token and, on request, the state of every run. Exact: N15 with
// gamma = dt and beta = +0; a non-finite token makes the next one's state NaN,
// as 0 * inf is.
//   Errors: Validate(problem, inputs, outputs)'s; nothing is written then.
Status SsdScan(const SsdScanProblem& problem, const SsdScanInputs& inputs,
               const SsdScanOutputs& outputs);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_SSD_SCAN_H_
