// One case before the judge: all tiers, ANDed.
#ifndef LOCKSTEP_VERIFY_JUDGE_JUDGE_H_
#define LOCKSTEP_VERIFY_JUDGE_JUDGE_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/causes/explanation.h"
#include "verify/inputs/materialise.h"
#include "verify/judge/claims/claim.h"
#include "verify/judge/evidence/truth_chain.h"
#include "verify/judge/verdict.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Copies of inputs and outputs that judging a case holds at once: the trial,
// a shifted one, two runs and the truth.
inline constexpr int64_t kJudgeCopies = 3;

struct JudgeOptions {
  MaterialiseOptions materialise;
  // The contract the candidate claims; absent: the exact one of its lane.
  std::optional<NumericProfile> profile;
  std::string profile_spec;  // its name or path, as given; for replay lines
  // Options as typed that change any of this; for replay lines.
  std::vector<std::string> replay_options;
  int threads = 0;         // of the reference; 0: one per core
  bool all_rows = false;   // reference on all rows whatever the cost
  bool invariance = true;  // run variations
  // Calls more of the very same, whose bits are compared: for faults that not
  // every call shows.
  int64_t repeats = 0;
  // Most variations of a case; below their number others from case to case.
  int64_t max_variations = INT64_MAX;
  // Most laws of a case; below their number others from case to case.
  int64_t max_laws = INT64_MAX;
  std::string only_law;  // of all laws; empty: any
  // Claims tried beyond those of the profile: a break of one is no finding.
  ClaimSet try_claims;
  // Nothing but two runs of the case and the claims is judged.
  bool only_claims = false;
  ClaimBudget claim_budget;  // of each claim of a case
  bool probes = true;        // for profiles that claim no exact bits
  // Only these probes, by their lines; absent: all.
  std::optional<std::vector<std::string>> only_probes;
  bool evidence = true;  // plant faults
  bool canaries = true;
  bool one_field = false;  // of a fail: look for a field that it comes from
  bool causes = false;     // of a fail: replay the known bugs
  // CPU time for that, in seconds; then what was found stands.
  double explain_seconds = kCauseSeconds;
  bool pictures = false;  // of a fail: map its error
  bool require_executed = false;
  // Only the verdict is computed: no baseline, no picture, no field.
  bool only_verdict = false;
  // Told of a fail once it is one, before anything is said beside it; empty:
  // nobody is.
  std::function<void(const CaseResult&)> decided;
  const std::atomic<bool>* stop = nullptr;  // may be null
};

// What all that is drawn for a case follows from, by the digest of its inputs.
inline uint64_t SaltOf(const std::string& input_digest) {
  return std::strtoull(input_digest.substr(0, 8).c_str(), nullptr, 16);
}

// Judges one call; `among`, its place among others, may be null: it has none
// before it then. Requires: ValidateCase passes, candidate.Prepare succeeded.
CaseResult JudgeCase(const CaseRequest& request, Candidate& candidate,
                     const JudgeOptions& options, const ChainPlace* among);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_JUDGE_H_
