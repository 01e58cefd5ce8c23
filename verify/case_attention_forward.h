// The keys of attention_forward case lines: one table drives parsing, both
// printed forms, the defaults and the error messages.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_H_

#include <cstdint>
#include <span>

#include "reference/contract/status.h"
#include "verify/case.h"
#include "verify/case_keys.h"

namespace lockstep::verify {

// In canonical order.
std::span<const CaseKey> AttentionForwardKeys();

// Rows of the op table; Requires: an attention_forward case.
Status ValidateAttentionForward(const Case& c);
int64_t AttentionForwardBytes(const Case& c);
bool AttentionForwardNamesFiles(const Case& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_H_
