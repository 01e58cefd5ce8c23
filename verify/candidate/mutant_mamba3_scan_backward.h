// Emulated kernels of a scan's gradients as candidates.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_MUTANT_MAMBA3_SCAN_BACKWARD_H_
#define LOCKSTEP_VERIFY_CANDIDATE_MUTANT_MAMBA3_SCAN_BACKWARD_H_

#include <memory>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"

namespace lockstep::verify {

// `kind`: "mutant" or "variant"; `spec`: what follows the colon.
std::unique_ptr<Candidate> MakeEmulatedScanGradients(std::string kind,
                                                     std::string spec,
                                                     ScanGradVariant variant,
                                                     ScanGradFault fault);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_MUTANT_MAMBA3_SCAN_BACKWARD_H_
