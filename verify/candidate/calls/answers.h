// files:DIR where DIR has an index of calls: the judge makes its calls, and
// each is looked up.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_CALLS_ANSWERS_H_
#define LOCKSTEP_VERIFY_CANDIDATE_CALLS_ANSWERS_H_

#include <memory>
#include <string>

#include "verify/candidate/candidate.h"

namespace lockstep::verify {

bool HasCallIndex(const std::string& folder);

// A call of the judge is found by the digest of its inputs; of equal ones the
// first time it is made is the first of the index. Where none is there, or it
// has no answer, the outcome is kAbsent.
std::unique_ptr<Candidate> MakeCallAnswers(std::string folder);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_CALLS_ANSWERS_H_
