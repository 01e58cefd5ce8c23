// Before anything is judged: small problems of each op whose every output bit
// is known, and the primitives of the oracle. A wrong compiler, library or
// machine is found here, not blamed on a candidate (N17).
#ifndef LOCKSTEP_VERIFY_RUN_SELF_CHECK_H_
#define LOCKSTEP_VERIFY_RUN_SELF_CHECK_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "reference/contract/status.h"
#include "verify/base/run_outcome.h"
#include "verify/case/case.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// What computes the outputs of a case, and the reference as such.
using AnswerOf = std::function<RunOutcome(const Trial&, const OutputSet&)>;
RunOutcome ByReference(const Trial& trial, const OutputSet& outputs);

// "inputs=HEX OUTPUT=HEX ...": digests (docs/cases.md) of a case and of an
// answer to it, every output by its name. Errors: there is no such case, or no
// answer.
Result<std::string> DigestsOfAnswer(const Case& c, const AnswerOf& answer);
// The first name whose digest is another one in `b`; empty: none.
std::string WhichDiffers(std::string_view a, std::string_view b);

// A case with the digests of its inputs and of the reference's answer.
struct KnownAnswer {
  const char* line;
  const char* digests;
};

// The built-in ones. They change with the contract version or the input
// generator, and with nothing else.
std::span<const KnownAnswer> KnownAnswers();

// `ops`: those of the program. Errors: which case, and which digest differs.
// Takes a millisecond or two.
Status CheckKnownAnswers(std::span<const KnownAnswer> answers, OpRows ops);

// Looks at the arithmetic of every thread that computes from now on.
void WatchThreads();

// CheckArithmetic on this thread, and what was seen of others. Then every
// primitive of the oracle, on each of its instruction sets that this CPU runs,
// and the built-in known answers.
Status SelfCheck(OpRows ops);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_SELF_CHECK_H_
