// The keys of attention_forward case lines: one table drives parsing, both
// printed forms, the defaults and the error messages.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_H_

#include <span>

#include "verify/case_keys.h"

namespace lockstep::verify {

// In canonical order.
std::span<const CaseKey> AttentionForwardKeys();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_H_
