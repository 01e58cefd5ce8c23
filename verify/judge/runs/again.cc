#include "verify/judge/runs/again.h"

#include <optional>
#include <utility>
#include <vector>

#include "verify/judge/bounded.h"
#include "verify/judge/invariance.h"

namespace lockstep::verify {

void JudgeAgain(const Trial& trial, const AllowedResults& allowed,
                const OutputSet& first, const OutputSet& again,
                const std::string& check, const std::string& how,
                const std::string& spec, CaseResult* result) {
  ++result->runs_again;
  if (!FirstDifference(trial, first, again)) {
    NoteCheck(result, check, true);
    return;
  }
  ++result->runs_apart;
  for (EnvelopeResult& found : allowed.Judge(again)) {
    const bool passed = found.Passed();
    NoteCheck(result, check, passed);
    if (passed) continue;
    const std::string message =
        "outside the envelope when " + how + ": " +
        DescribeEnvelope(OutputNamed(trial, found.tensor), found);
    result->findings.push_back({Tier::kEnvelope, check, message, spec,
                                std::nullopt, "", std::move(found)});
    return;
  }
}

Finding OtherBits(const Trial& trial, const Comparison& difference,
                  const std::string& when) {
  const OutputSpec& spec = OutputNamed(trial, difference.tensor);
  return {Tier::kInvariance, "repeat",
          "other bits " + when + ": " + DescribeComparison(spec, difference),
          "", difference};
}

bool IsARace(Candidate& candidate, const CaseRequest& request,
             const Trial& trial, const OutputSet& first, CaseResult* result) {
  const Variation& fixed = candidate.traits().fixed;
  Result<OutputSet> outputs = trial.Allocate(fixed.shift);
  for (int64_t n = 0; outputs.ok() && n < kRaceCalls; ++n) {
    const GuardedRun run = RunGuarded(candidate, request, trial, fixed,
                                      kSecondPoison, outputs.value());
    ++result->runs;
    const std::vector<Finding> broken = GuardFindings(run, "");
    if (!broken.empty()) {
      result->findings.insert(result->findings.end(), broken.begin(),
                              broken.end());
      return true;
    }
    if (run.outcome.state != RunOutcome::State::kRan) return false;
    const auto difference = FirstDifference(trial, first, outputs.value());
    if (!difference) continue;
    NoteCheck(result, "repeat", false);
    result->findings.push_back(OtherBits(trial, *difference, "when run again"));
    return true;
  }
  return false;
}

}  // namespace lockstep::verify
