// Emulated scans as candidates.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_MUTANT_MAMBA3_SCAN_H_
#define LOCKSTEP_VERIFY_CANDIDATE_MUTANT_MAMBA3_SCAN_H_

#include <memory>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/emulator/mamba3_scan/kernel.h"

namespace lockstep::verify {

// `kind`: "mutant" or "variant"; `spec`: what follows the colon.
std::unique_ptr<Candidate> MakeEmulatedScan(std::string kind, std::string spec,
                                            ScanVariant variant, ScanDial dial);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_MUTANT_MAMBA3_SCAN_H_
