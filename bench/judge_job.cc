#include "bench/judge_job.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/inputs/attention_forward.h"

namespace lockstep::bench {
namespace {

// Keeps what the judge said.
class Listener : public verify::RunObserver {
 public:
  void OnCase(const verify::CaseResult& result, const verify::Totals&,
              int64_t) override {
    result_ = result;
  }
  const std::optional<verify::CaseResult>& result() const { return result_; }

 private:
  std::optional<verify::CaseResult> result_;
};

Result<verify::NumericProfile> ProfileOf(const std::string& asked,
                                         verify::Candidate* candidate) {
  if (asked != verify::kProfileFromCandidate) {
    return verify::LoadProfile(asked);
  }
  RETURN_IF_ERROR(candidate->Start());
  return verify::StatedProfileOf(*candidate);
}

}  // namespace

Result<verify::CaseResult> JudgeJob(const verify::Job& job,
                                    const std::string& spec,
                                    const std::string& profile,
                                    verify::RunOptions options) {
  options.judge.materialise.max_bytes = verify::DefaultMemoryBudget();
  ASSIGN_OR_RETURN(auto candidate, verify::ParseCandidate(spec));
  if (!profile.empty()) {
    ASSIGN_OR_RETURN(options.judge.profile,
                     ProfileOf(profile, candidate.get()));
    options.judge.profile_spec = profile;
  }
  std::vector<std::unique_ptr<verify::Candidate>> candidates;
  candidates.push_back(std::move(candidate));
  ASSIGN_OR_RETURN(auto run,
                   verify::Run::Prepare({job}, std::move(candidates), options));
  Listener listener;
  run.Judge(&listener);
  if (listener.result()) return *listener.result();
  return Status::Error("interrupted before there was a verdict");
}

}  // namespace lockstep::bench
