// Before anything is judged: three small problems whose every output bit is
// known, and the primitives of the oracle. A wrong compiler, library or machine
// is found here, not blamed on a candidate (N17).
#ifndef LOCKSTEP_VERIFY_RUN_SELF_CHECK_H_
#define LOCKSTEP_VERIFY_RUN_SELF_CHECK_H_

#include <span>

#include "reference/contract/status.h"
#include "verify/case/case.h"

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

// `ops`: those of the program. Errors: which case, and which digest differs.
// Takes less than a millisecond.
Status CheckKnownAnswers(std::span<const KnownAnswer> answers, OpRows ops);

// CheckArithmetic, every primitive of the oracle on every instruction set of it
// that this CPU runs, and the built-in known answers.
Status SelfCheck(OpRows ops);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_SELF_CHECK_H_
