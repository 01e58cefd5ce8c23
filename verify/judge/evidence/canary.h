// Canaries: on some cases a kernel that is known to be wrong takes the
// candidate's place, and the judge treats it like the candidate. A judge that
// passes it proves nothing.
#ifndef LOCKSTEP_VERIFY_JUDGE_EVIDENCE_CANARY_H_
#define LOCKSTEP_VERIFY_JUDGE_EVIDENCE_CANARY_H_

#include "verify/judge/judge.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// One case in so many, by its input digest; the first case of a run always.
inline constexpr uint64_t kCanaryEvery = 32;
// Multiply-adds of a case above which no canary is run: it is emulated, at
// some 5e7 of them a second.
inline constexpr int64_t kCanaryWork = int64_t{1} << 23;

// Whether the case is one of them. `salt`: of the input digest.
bool WantsCanary(const CaseRequest& request, const Trial& trial, uint64_t salt);

// Judges the first of the trial's canaries that computes something else here
// than a correct kernel does (established without the judge). Adds to canaries,
// and adds a finding where a canary is not caught. The next canary takes its
// place where it changes only what the profile leaves open. These are elements
// that may be anything, or that it moves little within the envelope, as long as
// no probe shows it either.
void JudgeCanary(const CaseRequest& request, const Trial& trial,
                 const JudgeOptions& options, uint64_t salt,
                 CaseResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_EVIDENCE_CANARY_H_
