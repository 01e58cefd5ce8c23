// Where a candidate's answers and a case's inputs come from, where that is a
// file.
#ifndef LOCKSTEP_VERIFY_JUDGE_ANSWERS_H_
#define LOCKSTEP_VERIFY_JUDGE_ANSWERS_H_

#include <string>

#include "verify/base/run_outcome.h"
#include "verify/case/case.h"
#include "verify/judge/verdict.h"
#include "verify/ops/facts.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Of CaseResult::facts: "expected.safetensors, the judge's own answer".
inline constexpr const char* kAnswersFact = "answers";

// Keeps what the candidate said of an answer that it did not compute, to the
// case or to a probe of it: the first counts.
inline void NoteAnswers(const RunOutcome& outcome, CaseResult* result) {
  if (outcome.state != RunOutcome::State::kRan || outcome.message.empty()) {
    return;
  }
  for (const Fact& fact : result->facts) {
    if (fact.name == kAnswersFact) return;
  }
  result->facts.push_back({kAnswersFact, outcome.message});
}

// Keeps a question that has no answer.
inline void NoteUnanswered(const std::string& check, const RunOutcome& outcome,
                           CaseResult* result) {
  result->unanswered.push_back({check, outcome.message});
}

// The check that failed where inputs cannot be made. Files that were there when
// the run was prepared are no fault of ours.
inline const char* InputsCheck(const Case& c) {
  return NamesFiles(c) ? kFilesCheck : "inputs";
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_ANSWERS_H_
