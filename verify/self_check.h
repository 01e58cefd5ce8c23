// Before anything is judged: two small problems whose every output bit is
// known. A wrong compiler, library or machine is found here, not blamed on a
// candidate (N17).
#ifndef LOCKSTEP_VERIFY_SELF_CHECK_H_
#define LOCKSTEP_VERIFY_SELF_CHECK_H_

#include <span>

#include "reference/contract/status.h"

namespace lockstep::verify {

// A case with the digests of its inputs and of the reference's outputs.
struct KnownAnswer {
  const char* line;
  const char* inputs;
  const char* o;
  const char* lse;
};

// The built-in ones. They change with the contract version or the input
// generator, and with nothing else.
std::span<const KnownAnswer> KnownAnswers();

// Errors: which case, and which digest differs. Takes less than a millisecond.
Status CheckKnownAnswers(std::span<const KnownAnswer> answers);

// CheckArithmetic and the built-in known answers.
Status SelfCheck();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELF_CHECK_H_
