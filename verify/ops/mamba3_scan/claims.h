// The pairs of calls of a scan's claims, and of its gradients'.
#ifndef LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_CLAIMS_H_
#define LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_CLAIMS_H_

#include "verify/ops/claims.h"

namespace lockstep::verify {

const OpClaims& Mamba3ScanClaims();
const OpClaims& Mamba3StepClaims();
const OpClaims& SsdScanClaims();
const OpClaims& Mamba3ScanBackwardClaims();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_CLAIMS_H_
