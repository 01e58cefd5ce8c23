// Whether alias= of a case has a meaning.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_ALIAS_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_ALIAS_H_

#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {

// V lies where k does, with k's numbers: nothing else says what it is.
Status CheckAlias(const AttentionForwardCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_ALIAS_H_
