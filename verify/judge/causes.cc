#include "verify/judge/causes.h"

#include "verify/causes/explain.h"
#include "verify/judge/pictures/ask_again.h"

namespace lockstep::verify {

bool TooLargeToExplain(const Trial& trial) {
  return WorkToExplain(trial) > kCauseWorkOfVerdict;
}

void FindCauses(const CaseRequest& request, Candidate& candidate,
                const JudgeOptions& options, const Trial& trial,
                const OutputSet& produced, CaseResult* failed) {
  const Finding* finding = FindingOfNumbers(*failed);
  if (finding == nullptr) return;
  Explainer explainer(OpName(*request.call),
                      failed->claims ? &*failed->claims : nullptr, options.stop,
                      kReplaysOfVerdict);
  const auto worth = [](const Trial& asked) {
    return !TooLargeToExplain(asked);
  };
  Status status;
  AskedAgain asked;
  // A probe is as large as its case.
  failed->too_large_to_explain = !worth(trial);
  if (failed->too_large_to_explain) return;
  if (OnOwnInputs(*failed, *finding)) {
    status = explainer.AddWrong(trial, produced);
  } else if (AskAgain(request, candidate, finding->line, worth, &asked)) {
    status = explainer.AddWrong(*asked.trial, asked.outputs);
  }
  if (status.ok()) failed->causes = explainer.Causes();
}

}  // namespace lockstep::verify
