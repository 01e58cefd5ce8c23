// Further draws of a case, which show what its own numbers hide.
#ifndef LOCKSTEP_VERIFY_RUN_DRAWS_H_
#define LOCKSTEP_VERIFY_RUN_DRAWS_H_

#include <cstdint>

#include "verify/candidate/candidate.h"
#include "verify/judge/judge.h"
#include "verify/judge/verdict.h"

namespace lockstep::verify {

struct DrawsRequest {
  const CaseRequest& own;  // the case; last call of a sequence of one
  Candidate& candidate;
  const JudgeOptions& options;  // of the case
  int64_t count;                // 0: none, and no twin
};

// How a draw is judged: its own inputs, and nothing that a case of the same
// shape has shown before it (variations, laws, probes, canaries).
JudgeOptions OptionsOfDraws(JudgeOptions options);

// Appends to result->draws. None where the case itself failed, or where the
// candidate answers nothing that it was not asked before.
void JudgeDraws(const DrawsRequest& request, CaseResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_DRAWS_H_
