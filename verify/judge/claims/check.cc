// The claims of a case, within its judgement.
#include <algorithm>
#include <utility>

#include "verify/judge/answers.h"
#include "verify/judge/claims/claims.h"
#include "verify/judge/invariance.h"
#include "verify/judge/judgement.h"

namespace lockstep::verify {

bool Judgement::HasRepeat() const {
  return std::any_of(
      result_.findings.begin(), result_.findings.end(),
      [](const Finding& finding) { return finding.check == "repeat"; });
}

void Judgement::NoteClaim(const ClaimTried& tried) {
  const std::string check = ClaimCheck(tried.claim);
  if (!tried.claimed || tried.state == ClaimState::kNotApplicable) return;
  if (tried.pairs > 0) {
    AddCheck(check, tried.state == ClaimState::kKept, tried.pairs);
  }
  if (tried.state == ClaimState::kBroken) {
    // A race has one name.
    if (!HasRepeat()) {
      result_.findings.push_back(BrokenClaim(tried, *request_.call));
    }
  }
  // What was not looked at is no claim kept.
  if (tried.state == ClaimState::kNotRun && result_.findings.empty()) {
    result_.unanswered.push_back({check, tried.why_not});
  }
}

void Judgement::CheckClaims() {
  // After a wrong answer, other ways to ask for it tell nothing new.
  if (!result_.findings.empty()) return;
  ClaimRequest request;
  request.candidate = &candidate_;
  request.request = &request_;
  request.profile = profile_ ? &*profile_ : nullptr;
  request.materialise = materialise_;
  request.budget = options_.claim_budget;
  request.stop = options_.stop;
  for (size_t n = 0; n < kClaims; ++n) {
    const auto claim = static_cast<Claim>(n);
    const bool claimed = profile_ && profile_->claims.Has(claim);
    if (!claimed && !options_.try_claims.Has(claim)) continue;
    if (options_.stop != nullptr && *options_.stop) return;
    CaseResult found;
    ClaimTried tried = JudgeClaim(request, claim, &found);
    result_.runs += found.runs;
    // Its profile says so, or another claim has met it.
    if (!Repeats() || HasRepeat()) {
      std::erase_if(found.findings, [](const Finding& finding) {
        return finding.check == "repeat";
      });
    }
    if (!Repeats()) found.checks.clear();
    for (const Check& check : found.checks) {
      NoteCheck(&result_, check.name, check.passed);
    }
    result_.findings.insert(result_.findings.end(), found.findings.begin(),
                            found.findings.end());
    NoteClaim(tried);
    result_.claims_tried.push_back(std::move(tried));
    if (Has(Tier::kCandidate) || Has(Tier::kSelf)) return;
  }
}

void Judgement::JudgeClaimsAlone() {
  CheckClaims();
  CheckUnanswered();
  SettleCandidate();
  Decide();
}

}  // namespace lockstep::verify
