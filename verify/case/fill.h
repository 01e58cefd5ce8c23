// Fill terms as text: `[TENSORS.]FAMILY[:ARGUMENTS]` joined by `+`, where
// TENSORS is some of the letters q, k, v (all three if left out).
#ifndef LOCKSTEP_VERIFY_CASE_FILL_H_
#define LOCKSTEP_VERIFY_CASE_FILL_H_

#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {

Result<std::vector<FillTerm>> ParseFill(Scanner& in);
std::string FormatFill(const std::vector<FillTerm>& terms);

// One distribution without tensors, as `sinklogit=` takes it. `what`: of
// messages, "a sink logit".
Result<FillTerm> ParseSingleFill(Scanner& in, const char* what);
std::string FormatFillTerm(const FillTerm& term);

// Argument ranges: rates and densities in [0, 1], finite scales, LO <= HI,
// integers that f32 holds.
Status ValidateFillTerm(const FillTerm& term);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_FILL_H_
