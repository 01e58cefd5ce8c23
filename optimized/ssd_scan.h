// ssd_scan, fast: mamba3_scan with lambda = 1 and nothing else, by the same
// kernels; the same bits as reference/ssd_scan.h on every target.
#ifndef LOCKSTEP_OPTIMIZED_SSD_SCAN_H_
#define LOCKSTEP_OPTIMIZED_SSD_SCAN_H_

#include "optimized/mamba3_scan.h"
#include "reference/contract/ssd_scan.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// y and, on request, the state of every run. Classes, memory and errors as
// Mamba3Scan, and n + p more floats for every run and head whose state is asked
// for. `execution` may be null. Errors also: Validate(problem, inputs,
// outputs)'s.
Status SsdScan(const SsdScanProblem& problem, const SsdScanInputs& inputs,
               const Mamba3ScanCaps& caps, const SsdScanOutputs& outputs,
               Mamba3ScanExecution* execution);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_SSD_SCAN_H_
