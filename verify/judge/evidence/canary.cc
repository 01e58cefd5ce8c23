#include "verify/judge/evidence/canary.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/judge/invariance.h"

namespace lockstep::verify {
namespace {

// What a candidate answers; none if it does not run.
std::optional<OutputSet> Answer(const std::string& spec,
                                const CaseRequest& request,
                                const Trial& trial) {
  Result<std::unique_ptr<Candidate>> candidate = ParseCandidate(spec);
  Result<OutputSet> outputs = trial.Allocate(0);
  if (!candidate.ok() || !outputs.ok()) return std::nullopt;
  Execution execution;
  const RunOutcome outcome = candidate.value()->Run(
      request, trial, Variation{}, outputs.value(), &execution);
  if (outcome.state != RunOutcome::State::kRan) return std::nullopt;
  return std::move(outputs.value());
}

// What a canary has to keep: what the candidate claims. Absent: exact bits, by
// a canary that claims nothing of its own.
std::optional<NumericProfile> Claimed(const CaseResult& result,
                                      const Trial& trial,
                                      const Candidate& canary) {
  if (result.claims || !canary.Claims()) return result.claims;
  for (const NumericProfile& profile : BuiltinProfiles()) {
    if (profile.exact && profile.lane == trial.outputs()[0].lane) {
      return profile;
    }
  }
  return std::nullopt;
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
  nested.evidence = false;
  nested.require_executed = false;
  const auto specs = trial.Canaries();
  const auto right = Answer(trial.CorrectKernel(), request, trial);
  // A fault may turn an inexact answer into the exact one.
  const auto truth = Answer("builtin:reference", request, trial);
  for (size_t n = 0; n < specs.size() && right && truth; ++n) {
    const std::string spec = specs[(salt / kCanaryEvery + n) % specs.size()];
    const auto wrong = Answer(spec, request, trial);
    if (!wrong || !FirstDifference(trial, *right, *wrong) ||
        !FirstDifference(trial, *truth, *wrong)) {
      continue;
    }
    Result<std::unique_ptr<Candidate>> candidate = ParseCandidate(spec);
    if (!candidate.ok()) return;
    nested.profile = Claimed(*result, trial, *candidate.value());
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
