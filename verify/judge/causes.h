// Of a fail: the known bugs that give the same wrong answer.
#ifndef LOCKSTEP_VERIFY_JUDGE_CAUSES_H_
#define LOCKSTEP_VERIFY_JUDGE_CAUSES_H_

#include "verify/candidate/candidate.h"
#include "verify/judge/judge.h"
#include "verify/judge/verdict.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Whether replaying all known bugs on it would take a verdict too long.
bool TooLargeToExplain(const Trial& trial);

// Sets causes where the first finding that counts is one of numbers, on the
// case itself or on a probe that the candidate can be asked again; and
// too_large_to_explain.
void FindCauses(const CaseRequest& request, Candidate& candidate,
                const JudgeOptions& options, const Trial& trial,
                const OutputSet& produced, CaseResult* failed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_CAUSES_H_
