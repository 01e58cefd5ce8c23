// From a case to the tensors of mamba3_scan_backward: those of mamba3_scan, and
// cotangents of what it gives, which lie beside them.
#ifndef LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_BACKWARD_H_
#define LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_BACKWARD_H_

#include "reference/contract/mamba3_scan_backward.h"
#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/inputs/mamba3_scan.h"
#include "verify/inputs/materialise.h"
#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

// The contract's views of the storage.
Mamba3ScanBackwardInputs BackwardInputsOf(const Mamba3ScanData& data);

// Errors: those of MaterialiseMamba3Scan.
Result<Mamba3ScanData> MaterialiseMamba3ScanBackward(
    const Case& c, const MaterialiseOptions& options);

// Names, order and meaning of tensors and scalars: docs/wire.md.
KernelInputs NameInputs(const Mamba3ScanBackwardProblem& problem,
                        const Mamba3ScanBackwardInputs& inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_BACKWARD_H_
