// A case fails because the kernel is wrong, or because its profile is. Where
// one field of the profile, said otherwise, makes it pass, the author has to
// know.
#ifndef LOCKSTEP_VERIFY_JUDGE_ONE_FIELD_H_
#define LOCKSTEP_VERIFY_JUDGE_ONE_FIELD_H_

#include <cstdint>
#include <string>

#include "verify/candidate/candidate.h"
#include "verify/judge/judge.h"
#include "verify/judge/verdict.h"

namespace lockstep::verify {

// Multiply-adds of a case up to which fields are tried: each takes a run of the
// judge.
inline constexpr int64_t kOneFieldWork = int64_t{1} << 24;

// Sets one_field to the first field with which the whole judge passes the case;
// the list goes from conventions to precision. If there is none, takes the
// first convention with which the case does not fail, though too little is
// claimed then to be judged. Nothing is set where the candidate claims exact
// bits, or something else was found than numbers.
void FindOneField(const CaseRequest& request, Candidate& candidate,
                  const JudgeOptions& options, CaseResult* failed);

// The sentence about it for people, without its full stop. If the field leaves
// something unjudged, it says where alone the kernel is wrong; otherwise it
// says what the kernel may have to declare. Empty: no field was found.
std::string OneFieldText(const CaseResult& failed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_ONE_FIELD_H_
