// Emulated attention kernels as candidates.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_MUTANT_ATTENTION_FORWARD_H_
#define LOCKSTEP_VERIFY_CANDIDATE_MUTANT_ATTENTION_FORWARD_H_

#include <memory>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/emulator/attention_forward/kernel.h"

namespace lockstep::verify {

// `kind`: "mutant" or "variant"; `spec`: what follows the colon.
std::unique_ptr<Candidate> MakeEmulatedAttention(std::string kind,
                                                 std::string spec,
                                                 AttentionVariant variant,
                                                 FaultDial dial);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_MUTANT_ATTENTION_FORWARD_H_
