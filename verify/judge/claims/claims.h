// Claims before the judge: pairs of calls of one kernel whose answers have to
// have the same bits, in sizes that the judge chooses.
#ifndef LOCKSTEP_VERIFY_JUDGE_CLAIMS_CLAIMS_H_
#define LOCKSTEP_VERIFY_JUDGE_CLAIMS_CLAIMS_H_

#include <atomic>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/inputs/materialise.h"
#include "verify/judge/claims/claim.h"
#include "verify/judge/verdict.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// What each element of an input counts as in a budget of multiply-adds.
inline constexpr int64_t kElementCost = 20;

struct ClaimRequest {
  Candidate* candidate = nullptr;
  const CaseRequest* request = nullptr;
  const NumericProfile* profile = nullptr;  // null: exact bits
  MaterialiseOptions materialise;
  ClaimBudget budget;
  const std::atomic<bool>* stop = nullptr;  // may be null
};

// Why the claim says nothing of the case; empty: it does.
std::string WhyNotClaimed(const Case& c, Claim claim);

// Tries one claim. Adds runs to `result`, and findings only of a kernel that
// broke, or gives other bits to the very same call ("repeat").
//   Requires: ValidateCase passes, candidate.Prepare succeeded.
ClaimTried JudgeClaim(const ClaimRequest& request, Claim claim,
                      CaseResult* result);

// "5 batch rows, 257 keys", "1 key": sizes of a pair; of what is not 0.
std::string SizeWords(int64_t width, const std::string& unit, int64_t length,
                      const std::string& length_unit);

// The finding that a claimed claim is broken, check "claim_NAME".
Finding BrokenClaim(const ClaimTried& tried, const Case& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_CLAIMS_CLAIMS_H_
