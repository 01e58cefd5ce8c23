// The answer that a failing verdict rests on, once more. That of the case
// itself is at hand; for a probe the candidate is asked again.
#ifndef LOCKSTEP_VERIFY_JUDGE_PICTURES_ASK_AGAIN_H_
#define LOCKSTEP_VERIFY_JUDGE_PICTURES_ASK_AGAIN_H_

#include <functional>
#include <memory>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/judge/verdict.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// The finding that the verdict rests on, if it is one of numbers; else null.
const Finding* FindingOfNumbers(const CaseResult& failed);

// Whether the finding was made on the case's own inputs.
bool OnOwnInputs(const CaseResult& failed, const Finding& finding);

// A call beside the case's own, and the candidate's answer to it.
struct AskedAgain {
  Case call;
  std::unique_ptr<Trial> trial;
  OutputSet outputs;
};

// The call of this line. False where the candidate cannot be asked again, the
// trial is not worth it, or no answer came.
bool AskAgain(const CaseRequest& request, Candidate& candidate,
              const std::string& line,
              const std::function<bool(const Trial&)>& worth,
              AskedAgain* asked);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_PICTURES_ASK_AGAIN_H_
