// Emulated merges as candidates.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_ATTENTION_MERGE_MUTANT_H_
#define LOCKSTEP_VERIFY_CANDIDATE_ATTENTION_MERGE_MUTANT_H_

#include <memory>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/emulator/attention_merge/kernel.h"

namespace lockstep::verify {

// `kind`: "mutant" or "variant"; `spec`: what follows the colon.
std::unique_ptr<Candidate> MakeEmulatedMerge(std::string kind, std::string spec,
                                             MergeVariant variant,
                                             MergeFault fault);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_ATTENTION_MERGE_MUTANT_H_
