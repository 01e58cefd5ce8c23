// Checks that alias= of a case has a meaning.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_ALIAS_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_ALIAS_H_

#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {

// V is in k's memory, with k's numbers: no other key may describe v.
Status CheckAlias(const AttentionForwardCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_ALIAS_H_
