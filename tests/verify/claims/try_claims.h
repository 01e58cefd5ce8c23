// Claims of a kernel on a case, tried without a profile that claims them.
#ifndef LOCKSTEP_TESTS_VERIFY_CLAIMS_TRY_CLAIMS_H_
#define LOCKSTEP_TESTS_VERIFY_CLAIMS_TRY_CLAIMS_H_

#include <string>

#include "tests/verify/judge_line.h"
#include "verify/profile/claims.h"

namespace lockstep::verify {

// Small enough for emulated kernels.
inline constexpr int64_t kSmallWork = int64_t{1} << 20;

inline JudgeOptions TryAll(int64_t work = kSmallWork) {
  JudgeOptions options;
  options.only_claims = true;
  options.try_claims = ParseClaims("all").value();
  options.claim_budget.work = work;
  options.claim_budget.runs = 24;
  // No test depends on the clock.
  options.claim_budget.seconds = 1e9;
  return options;
}

// "batch, heads": the claims that came out so.
inline std::string ClaimsThatAre(ClaimState state, const CaseResult& result) {
  ClaimSet claims;
  for (const ClaimTried& tried : result.claims_tried) {
    if (tried.state == state) claims.Add(tried.claim);
  }
  return PrintClaims(claims);
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_CLAIMS_TRY_CLAIMS_H_
