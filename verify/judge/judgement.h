// One case before the judge, step by step: what JudgeCase does.
#ifndef LOCKSTEP_VERIFY_JUDGE_JUDGEMENT_H_
#define LOCKSTEP_VERIFY_JUDGE_JUDGEMENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/causes/sample.h"
#include "verify/judge/evidence/truth_chain.h"
#include "verify/judge/invariance.h"
#include "verify/judge/judge.h"
#include "verify/judge/laws.h"
#include "verify/judge/truth.h"
#include "verify/judge/verdict.h"
#include "verify/ops/op.h"
#include "verify/tables/scene.h"

namespace lockstep::verify {

class Judgement {
 public:
  Judgement(const CaseRequest& request, Candidate& candidate,
            const JudgeOptions& options)
      : request_(request),
        candidate_(candidate),
        options_(options),
        profile_(options.profile ? options.profile : candidate.traits().claims),
        materialise_(
            OptionsFor(profile_ ? &*profile_ : nullptr, options.materialise)) {}

  CaseResult Run(const ChainPlace* among);
  // Whether the case left its truth for those after it.
  bool told() const { return told_; }

 private:
  void Describe();
  // Each step returns false where judging ends; verdict and reason are set.
  bool Open();
  // The rest of it, by what the op's answers are.
  void JudgeOutputs(const ChainPlace* among);
  void JudgeTables(const BlockPlanScene& scene);
  bool Declared();
  bool FirstRun();
  void BeginSecondRun();
  void FindTruth();
  bool SecondRun();
  void CompareRuns();     // the two, bit for bit
  void JudgeSecondRun();  // by what is allowed, if bits are not promised
  void RepeatCall();      // options_.repeats times, until a run differs
  void CompareBits();
  bool CompareAllowed();
  void CheckInvariance();
  LawsRequest Laws() const;
  void CheckShards();
  void CheckClaims();
  void JudgeClaimsAlone();
  void NoteClaim(const ClaimTried& tried);
  bool HasRepeat() const;
  // Leaves the truth for the cases after this.
  void CheckPower(const ChainPlace* among);
  // The null that is the answer to the case before.
  void CheckPowerOfPrevious(const ChainPlace& among);
  void CheckOtherRows();
  void CheckProbes();
  void CheckStatistics();
  void CheckCanary();
  void CheckUnanswered();
  void SettleCandidate();
  void SuggestField();
  void SuggestCauses();
  void DrawPicture();
  void MeasureErrors();
  void AddBaselines();
  void Decide();
  void Tell() const;
  // Of tables (block_plan.cc).
  bool Traced(const RunOutcome& outcome);
  void CheckInvariants(const PlanTrace& trace, const IntendedMask& mask);
  void CheckNoPlans(const IntendedMask& mask);
  void CheckPlanCanary(const BlockPlanScene& scene);

  bool End(Verdict verdict, const std::string& reason) {
    result_.verdict = verdict;
    result_.reason = reason;
    return false;
  }
  bool SelfError(const std::string& check, const std::string& message) {
    result_.findings.push_back({Tier::kSelf, check, message, "", std::nullopt});
    return End(Verdict::kError, message);
  }
  void AddCheck(const std::string& name, bool passed, int64_t runs) {
    result_.checks.push_back({name, passed, runs});
  }
  bool Has(Tier tier) const {
    for (const Finding& finding : result_.findings) {
      if (finding.tier == tier) return true;
    }
    return false;
  }
  // The first output, if the profile excludes nothing anywhere in it: what it
  // holds is outside the profile. Of the others FindOpenOutputs tells.
  std::string Vacuous() const;
  // Whether a finding proves something against the candidate.
  bool Proven() const;
  // Whether bits are claimed.
  bool Exact() const { return !profile_ || profile_->exact; }
  // Whether the same call has to give the same bits.
  bool Repeats() const { return Exact() || profile_->repeat; }
  // Whether the kernel does not have that output.
  bool Lacks(const std::string& output) const {
    return profile_ && !HasOutput(*profile_, output);
  }
  uint64_t Salt() const { return SaltOf(result_.input_digest); }
  Result<std::unique_ptr<Trial>> OpenShifted(int64_t shift) const;
  GuardedRun RunOnce(PoisonBits poison, const OutputSet& outputs);

  const CaseRequest& request_;
  Candidate& candidate_;
  const JudgeOptions& options_;
  std::optional<NumericProfile> profile_;  // absent: the exact contract
  const MaterialiseOptions materialise_;
  bool own_probe_ = false;  // the case is itself a probe, and was judged so
  bool told_ = false;
  bool ran_twice_ = false;  // both sets of outputs are answers to the case
  CaseResult result_;
  std::vector<RowError> errors_;  // of a fail whose causes are looked for
  std::unique_ptr<Trial> trial_;
  OutputSet first_;
  OutputSet second_;
  Truth truth_;
  std::unique_ptr<AllowedResults> allowed_;  // unless Exact()
  std::string null_line_;                    // the case after the one before
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_JUDGEMENT_H_
