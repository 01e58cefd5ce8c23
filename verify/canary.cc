#include "verify/canary.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/digest.h"

namespace lockstep::verify {
namespace {

// Digests of what a candidate answers, its outputs one after the other; empty
// if it does not run.
std::string Answer(const std::string& spec, const CaseRequest& request,
                   const Trial& trial) {
  Result<std::unique_ptr<Candidate>> candidate = ParseCandidate(spec);
  Result<OutputSet> outputs = trial.Allocate(0);
  if (!candidate.ok() || !outputs.ok()) return "";
  Execution execution;
  const RunOutcome outcome = candidate.value()->Run(
      request, trial, Variation{}, outputs.value(), &execution);
  if (outcome.state != RunOutcome::State::kRan) return "";
  std::string answer;
  for (const LaneTensor& tensor : outputs->tensors) {
    answer += DigestTensor(tensor.const_view());
  }
  return answer;
}

}  // namespace

bool WantsCanary(const CaseRequest& request, const Trial& trial,
                 uint64_t salt) {
  if (trial.rows() > kCanaryWork / trial.RowCost()) return false;
  return request.number == 1 || salt % kCanaryEvery == 0;
}

void JudgeCanary(const CaseRequest& request, const Trial& trial,
                 const JudgeOptions& options, uint64_t salt,
                 CaseResult* result) {
  JudgeOptions nested = options;
  nested.canaries = false;
  nested.invariance = false;
  nested.require_executed = false;
  nested.profile = result->claims;
  const auto specs = trial.Canaries();
  const std::string right = Answer(trial.CorrectKernel(), request, trial);
  for (size_t n = 0; n < specs.size() && !right.empty(); ++n) {
    const std::string spec = specs[(salt / kCanaryEvery + n) % specs.size()];
    const std::string wrong = Answer(spec, request, trial);
    if (wrong.empty() || wrong == right) continue;
    Result<std::unique_ptr<Candidate>> candidate = ParseCandidate(spec);
    if (!candidate.ok()) return;
    Case call = *request.call;
    call.expect = Expect::kPass;
    CaseRequest asked = request;
    asked.call = &call;
    const CaseResult judged =
        JudgeCase(asked, *candidate.value(), nested, nullptr);
    const bool caught = judged.verdict == Verdict::kFail;
    result->canaries.push_back({spec, caught});
    if (caught) return;
    result->findings.push_back(
        {Tier::kPower, "canary",
         spec + ", which is wrong on this case, got the verdict '" +
             VerdictName(judged.verdict) + "': this judge proves nothing here",
         spec, std::nullopt});
    return;
  }
}

}  // namespace lockstep::verify
