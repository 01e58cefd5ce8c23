#include "verify/judge/causes.h"

#include "verify/causes/explain.h"
#include "verify/judge/pictures/ask_again.h"

namespace lockstep::verify {

void FindCauses(const CaseRequest& request, Candidate& candidate,
                const JudgeOptions& options, const Trial& trial,
                const OutputSet& produced, CaseResult* failed) {
  const Finding* finding = FindingOfNumbers(*failed);
  if (finding == nullptr) return;
  Explainer explainer(OpName(*request.call),
                      failed->claims ? &*failed->claims : nullptr,
                      options.stop);
  const auto worth = [](const Trial& asked) {
    return WorkToExplain(asked) <= kCauseWorkOfVerdict;
  };
  Status status;
  AskedAgain asked;
  if (OnOwnInputs(*failed, *finding)) {
    failed->too_large_to_explain = !worth(trial);
    if (failed->too_large_to_explain) return;
    status = explainer.AddWrong(trial, produced);
  } else if (AskAgain(request, candidate, finding->line, worth, &asked)) {
    status = explainer.AddWrong(*asked.trial, asked.outputs);
  }
  if (status.ok()) failed->causes = explainer.Causes();
}

}  // namespace lockstep::verify
