#include "verify/judge/causes.h"

#include <algorithm>
#include <memory>

#include "verify/causes/explain.h"

namespace lockstep::verify {
namespace {

// The finding that the verdict rests on, if it is one of numbers.
const Finding* OfNumbers(const CaseResult& failed) {
  for (const Finding& finding : failed.findings) {
    if (!Counts(failed, finding)) continue;
    const bool numbers = finding.tier == Tier::kBits ||
                         finding.tier == Tier::kEnvelope ||
                         finding.tier == Tier::kProbes;
    return numbers && LawOf(finding.check).empty() ? &finding : nullptr;
  }
  return nullptr;
}

// The probe that shows the finding, with the candidate's answer to it.
struct Asked {
  Case call;
  std::unique_ptr<Trial> trial;
  OutputSet outputs;
};

bool AskAgain(const CaseRequest& request, Candidate& candidate,
              const std::string& line, Asked* asked) {
  if (!candidate.Repeatable()) return false;
  const OpRow* const row = request.call->op;
  Result<Case> call = ParseCase(line, std::span(&row, 1));
  if (!call.ok()) return false;
  asked->call = std::move(call.value());
  const Result<TrialRow> op = TrialRowOf(asked->call);
  if (!op.ok()) return false;
  Result<std::unique_ptr<Trial>> trial = op->open(asked->call, {});
  if (!trial.ok() || WorkToExplain(*trial.value()) > kCauseWorkOfVerdict) {
    return false;
  }
  asked->trial = std::move(trial.value());
  Result<OutputSet> outputs = asked->trial->Allocate(0);
  if (!outputs.ok()) return false;
  asked->outputs = std::move(outputs.value());
  CaseRequest again = request;
  again.call = &asked->call;
  again.line = line;
  Execution execution;
  return candidate
             .Run(again, *asked->trial, candidate.Fixed(), asked->outputs,
                  &execution)
             .state == RunOutcome::State::kRan;
}

}  // namespace

void FindCauses(const CaseRequest& request, Candidate& candidate,
                const JudgeOptions& options, const Trial& trial,
                const OutputSet& produced, CaseResult* failed) {
  const Finding* finding = OfNumbers(*failed);
  if (finding == nullptr) return;
  Explainer explainer(OpName(*request.call),
                      failed->claims ? &*failed->claims : nullptr,
                      options.stop);
  const bool own = finding->line.empty() || finding->line == failed->line;
  Status status;
  Asked asked;
  if (own) {
    failed->too_large_to_explain = WorkToExplain(trial) > kCauseWorkOfVerdict;
    if (failed->too_large_to_explain) return;
    status = explainer.AddWrong(trial, produced);
  } else if (AskAgain(request, candidate, finding->line, &asked)) {
    status = explainer.AddWrong(*asked.trial, asked.outputs);
  }
  if (status.ok()) failed->causes = explainer.Causes();
}

}  // namespace lockstep::verify
