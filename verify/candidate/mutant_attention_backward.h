// Emulated kernels of attention's gradients as candidates.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_MUTANT_ATTENTION_BACKWARD_H_
#define LOCKSTEP_VERIFY_CANDIDATE_MUTANT_ATTENTION_BACKWARD_H_

#include <memory>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/emulator/attention_backward/kernel.h"

namespace lockstep::verify {

// `kind`: "mutant" or "variant"; `spec`: what follows the colon.
std::unique_ptr<Candidate> MakeEmulatedGradients(std::string kind,
                                                 std::string spec,
                                                 GradVariant variant,
                                                 GradFault fault);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_MUTANT_ATTENTION_BACKWARD_H_
