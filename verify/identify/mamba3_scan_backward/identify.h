// lockstep identify of mamba3_scan_backward.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_BACKWARD_IDENTIFY_H_
#define LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_BACKWARD_IDENTIFY_H_

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/identify/identify.h"

namespace lockstep::verify {

Result<Identified> IdentifyScanGradients(const IdentifyRequest& request,
                                         Candidate& candidate);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_BACKWARD_IDENTIFY_H_
