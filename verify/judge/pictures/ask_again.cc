#include "verify/judge/pictures/ask_again.h"

#include <optional>
#include <span>
#include <utility>

#include "verify/candidate/probe_folders.h"

namespace lockstep::verify {

const Finding* FindingOfNumbers(const CaseResult& failed) {
  for (const Finding& finding : failed.findings) {
    if (!Counts(failed, finding)) continue;
    const bool numbers = finding.tier == Tier::kBits ||
                         finding.tier == Tier::kEnvelope ||
                         finding.tier == Tier::kProbes;
    return numbers && LawOf(finding.check).empty() ? &finding : nullptr;
  }
  return nullptr;
}

bool OnOwnInputs(const CaseResult& failed, const Finding& finding) {
  return finding.line.empty() || finding.line == failed.line;
}

bool AskAgain(const CaseRequest& request, Candidate& candidate,
              const std::string& line,
              const std::function<bool(const Trial&)>& worth,
              AskedAgain* asked) {
  CaseRequest again = request;
  again.line = line;
  again.once_more = true;
  const OpRow* const row = request.call->op;
  Result<Case> call = ParseCase(line, std::span(&row, 1));
  if (!call.ok()) return false;
  asked->call = std::move(call.value());
  again.call = &asked->call;
  if (!candidate.traits().repeatable) {
    // It has answers to probes only, if to anything beside the case.
    again.probe = ProbeName(line);
    if (!candidate.Answers(again)) return false;
  }
  const Result<TrialRow> op = TrialRowOf(asked->call);
  if (!op.ok()) return false;
  const std::optional<NumericProfile> claims =
      request.claims != nullptr ? std::optional(*request.claims)
                                : candidate.traits().claims;
  Result<std::unique_ptr<Trial>> trial =
      op->open(asked->call, OptionsFor(claims ? &*claims : nullptr));
  if (!trial.ok() || !worth(*trial.value())) return false;
  asked->trial = std::move(trial.value());
  Result<OutputSet> outputs = asked->trial->Allocate(0);
  if (!outputs.ok()) return false;
  asked->outputs = std::move(outputs.value());
  Execution execution;
  return candidate
             .Run(again, *asked->trial, candidate.traits().fixed,
                  asked->outputs, &execution)
             .state == RunOutcome::State::kRan;
}

}  // namespace lockstep::verify
