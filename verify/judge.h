// One case before the judge: all tiers, ANDed.
#ifndef LOCKSTEP_VERIFY_JUDGE_H_
#define LOCKSTEP_VERIFY_JUDGE_H_

#include <atomic>
#include <optional>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/inputs.h"
#include "verify/power.h"
#include "verify/profile.h"
#include "verify/verdict.h"

namespace lockstep::verify {

// Copies of inputs and outputs that judging a case holds at once: the trial,
// a shifted one, two runs and the truth.
inline constexpr int64_t kJudgeCopies = 3;

struct JudgeOptions {
  MaterialiseOptions materialise;
  // The contract the candidate claims; absent: the exact one of its lane.
  std::optional<NumericProfile> profile;
  std::string profile_spec;  // its name or path, as given; for replay lines
  int threads = 0;           // of the reference; 0: one per core
  bool all_rows = false;     // reference on all rows whatever the cost
  bool invariance = true;    // run variations
  // Most variations of a case; below their number others from case to case.
  int64_t max_variations = INT64_MAX;
  // Most laws of a case; below their number others from case to case.
  int64_t max_laws = INT64_MAX;
  std::string only_law;  // of all laws; empty: any
  bool probes = true;    // for profiles that claim no exact bits
  bool canaries = true;
  bool require_executed = false;
  const std::atomic<bool>* stop = nullptr;  // may be null
};

// Judges one call; `previous` carries the truth from case to case and may be
// null. Requires: ValidateCase passes, candidate.Prepare succeeded.
CaseResult JudgeCase(const CaseRequest& request, Candidate& candidate,
                     const JudgeOptions& options,
                     std::optional<PreviousTruth>* previous);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_H_
