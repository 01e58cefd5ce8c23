// The evidence for a verdict apart from the comparison: what really ran, and
// how much of each output could have failed.
#ifndef LOCKSTEP_VERIFY_JUDGE_EVIDENCE_STAGE_H_
#define LOCKSTEP_VERIFY_JUDGE_EVIDENCE_STAGE_H_

#include <string>

#include "verify/candidate/candidate.h"
#include "verify/judge/verdict.h"
#include "verify/ops/allowed.h"

namespace lockstep::verify {

// The check "executed_as_requested"; a finding where it is `required`.
void JudgeExecution(const Candidate& candidate, bool required,
                    CaseResult* result);

// A finding of the power tier for every output with more than 1 / kOpenShare
// open elements on the case's own inputs, under the profile of that name.
// Outputs that a probe bounds which the candidate answered have none.
// `allowed`: what that profile allows; it knows of whole rows that nothing is
// claimed of.
void FindOpenOutputs(const std::string& profile, const AllowedResults& allowed,
                     CaseResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_EVIDENCE_STAGE_H_
