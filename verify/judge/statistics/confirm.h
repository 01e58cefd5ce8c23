// Statistics of a case: what they find on its own inputs, and whether a second
// draw of the same case finds it again.
#ifndef LOCKSTEP_VERIFY_JUDGE_STATISTICS_CONFIRM_H_
#define LOCKSTEP_VERIFY_JUDGE_STATISTICS_CONFIRM_H_

#include <cstdint>

#include "verify/candidate/candidate.h"
#include "verify/inputs/materialise.h"
#include "verify/judge/verdict.h"
#include "verify/ops/allowed.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

struct StatisticsRequest {
  Candidate* candidate = nullptr;
  const CaseRequest* request = nullptr;
  const NumericProfile* profile = nullptr;
  const MaterialiseOptions* materialise = nullptr;
  const AllowedResults* allowed = nullptr;  // of the case's own inputs
  const OutputSet* produced = nullptr;
  uint64_t salt = 0;  // what the second draw follows from
  int threads = 0;
};

// Adds statistics, findings, runs and a check. What alarms on the case's own
// inputs and again, by itself, on a second draw is Tier::kStatistics; what does
// not is Tier::kStatisticsOnce.
void JudgeStatistics(const StatisticsRequest& request, CaseResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_STATISTICS_CONFIRM_H_
