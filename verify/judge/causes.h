// Of a fail: the known bugs that give the same wrong answer.
#ifndef LOCKSTEP_VERIFY_JUDGE_CAUSES_H_
#define LOCKSTEP_VERIFY_JUDGE_CAUSES_H_

#include <optional>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/case/case.h"
#include "verify/causes/sample.h"
#include "verify/judge/judge.h"
#include "verify/judge/truth.h"
#include "verify/judge/verdict.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Whether the case is too large to replay the known bugs of the op on all of
// it. Then they are replayed on a sample of its rows, or on a smaller case.
bool TooLargeToExplain(const Case& call, const Trial& trial);

// The truth's rows, and how far off each is in outputs that the kernel has: in
// the first of them that is plainly wrong anywhere.
std::vector<RowError> ErrorsOfRows(const Trial& trial, const Truth& truth,
                                   const NumericProfile* profile,
                                   const OutputSet& produced);

// The smaller case that the kernel is asked for first, where the case needs
// one. None: there is none.
std::optional<Case> FirstTwinOf(const Case& call);
// The same; none also where the bugs are replayed on the case itself.
std::optional<Case> TwinToAsk(const Case& call, const Trial& trial);

// What causes are looked for in.
struct CauseRequest {
  const CaseRequest& request;
  Candidate& candidate;
  const JudgeOptions& options;
  const Trial& trial;  // of the case itself
  const OutputSet& produced;
  const std::vector<RowError>& errors;
};

// Sets causes, or no_cause. The first finding that counts has to be one of
// numbers, on the case itself or on a probe that the candidate can be asked
// again.
void FindCauses(const CauseRequest& from, CaseResult* failed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_CAUSES_H_
