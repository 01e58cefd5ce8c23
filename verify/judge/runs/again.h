// Further runs of the very same call: of a kernel that promises the same bits,
// and of one that does not.
#ifndef LOCKSTEP_VERIFY_JUDGE_RUNS_AGAIN_H_
#define LOCKSTEP_VERIFY_JUDGE_RUNS_AGAIN_H_

#include <cstdint>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/judge/verdict.h"
#include "verify/ops/allowed.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Further calls of the very same, after which a difference is blamed on what
// was changed. Of a race in one call of four they miss 1 %.
inline constexpr int64_t kRaceCalls = 16;

// Holds a further answer to the case against what the profile allows, and
// counts whether its bits are those of `first`. Adds to checks and findings of
// `check`, to runs_again and runs_apart. `how`: "run again", or "run as SPEC";
// `spec`: of a variation, or empty.
//   Requires: the profile says repeat = no, `allowed` is of this trial.
void JudgeAgain(const Trial& trial, const AllowedResults& allowed,
                const OutputSet& first, const OutputSet& again,
                const std::string& check, const std::string& how,
                const std::string& spec, CaseResult* result);

// The finding that a further run has other bits than the first.
Finding OtherBits(const Trial& trial, const Comparison& difference,
                  const std::string& when);

// What was seen to differ after a change: runs the unchanged call up to
// kRaceCalls times, until it differs from `first` itself, or breaks. Then it
// adds that as a finding, of "repeat" or the candidate's, and returns true.
bool IsARace(Candidate& candidate, const CaseRequest& request,
             const Trial& trial, const OutputSet& first, CaseResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_RUNS_AGAIN_H_
