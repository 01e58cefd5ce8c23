// The calls that the judge makes of a candidate for a case, without judging.
// They are for kernels that answer elsewhere, before anything can be judged.
#ifndef LOCKSTEP_VERIFY_JUDGE_REHEARSAL_H_
#define LOCKSTEP_VERIFY_JUDGE_REHEARSAL_H_

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/judge/judge.h"

namespace lockstep::verify {

// Runs the candidate as JudgeCase does with these options while it finds
// nothing: on the case, on repeats, on its variations, on the calls of all
// laws, and on the probes of the profile. What it answers does not matter.
// Nothing is run on a case that the profile does not cover. Errors: inputs
// cannot be made.  Requires: ValidateCase passes.
Status RehearseCase(const CaseRequest& request, Candidate& candidate,
                    const JudgeOptions& options);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_REHEARSAL_H_
