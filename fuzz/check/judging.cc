#include "fuzz/check/judging.h"

#include <cmath>
#include <memory>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/registry/ops.h"
#include "verify/run/run.h"

namespace lockstep::fuzz::check {
namespace {

// Says whether NaN that laws have put into other numbers is all that is wrong.
bool NanOfLaws(const verify::CaseResult& result) {
  bool any = false;
  for (const verify::Finding& finding : result.findings) {
    if (!verify::Counts(result, finding)) continue;
    const bool nan = finding.envelope && finding.envelope->first &&
                     std::isnan(finding.envelope->first->produced);
    if (verify::LawOf(finding.check).empty() || !nan) return false;
    any = true;
  }
  return any && result.verdict == verify::Verdict::kFail;
}

class Keeper : public verify::RunObserver {
 public:
  explicit Keeper(Answers* answers) : answers_(*answers) {}
  void OnCase(const verify::CaseResult& result, const verify::Totals&,
              int64_t) override {
    answers_.cases.push_back(result);
    if (NanOfLaws(result)) {
      answers_.cases.back().verdict = verify::Verdict::kPass;
      answers_.nan_laws = true;
    }
    answers_.totals.Add(answers_.cases.back());
    answers_.statistics.Add(result);
  }

 private:
  Answers& answers_;
};

verify::RunOptions OptionsOf(const Judging& how) {
  verify::RunOptions options;
  options.budget.seconds = how.seconds;
  options.max_memory = verify::DefaultMemoryBudget();
  verify::JudgeOptions& judge = options.judge;
  judge.materialise.max_bytes = options.max_memory;
  judge.profile_spec = how.profile;
  judge.stop = how.stop;
  judge.invariance = judge.probes = how.thorough;
  judge.evidence = judge.canaries = how.thorough;
  judge.causes = how.thorough;
  judge.try_claims = how.claims;
  judge.only_claims = !how.claims.Empty();
  if (judge.only_claims) {
    // A share of the seconds, which are all cases' together.
    judge.claim_budget.seconds = how.seconds.value_or(10) / 4;
  }
  return options;
}

}  // namespace

const verify::CaseResult* Answers::Wrong() const {
  for (const verify::CaseResult& result : cases) {
    if (verify::HasVerdict(result, verify::Verdict::kFail) ||
        verify::HasVerdict(result, verify::Verdict::kError)) {
      return &result;
    }
  }
  return nullptr;
}

Result<Answers> JudgeLines(const std::vector<std::string>& lines,
                           const Judging& how) {
  ASSIGN_OR_RETURN(auto jobs, verify::JobsFromLines(lines, verify::Ops()));
  std::vector<std::unique_ptr<verify::Candidate>> candidates(1);
  ASSIGN_OR_RETURN(candidates[0], verify::ParseCandidate(how.spec));
  RETURN_IF_ERROR(candidates[0]->Start());
  verify::RunOptions options = OptionsOf(how);
  ASSIGN_OR_RETURN(options.judge.profile,
                   how.profile == verify::kProfileFromCandidate
                       ? verify::StatedProfileOf(*candidates[0])
                       : verify::LoadProfile(how.profile));
  ASSIGN_OR_RETURN(
      verify::Run run,
      verify::Run::Prepare(std::move(jobs), std::move(candidates), options));
  Answers answers;
  Keeper keeper(&answers);
  answers.totals.not_run = run.Judge(&keeper).not_run;
  return answers;
}

}  // namespace lockstep::fuzz::check
