// Mask expressions as text: `full causal window:L,R chunked:C prefix:P[,P..]
// sink:N dense:PATH[#DIGEST] random:DENSITY blocks:BQxBK:DENSITY`, with `&`
// (binds tighter), `|` and brackets. Meaning: reference/mask.h.
#ifndef LOCKSTEP_VERIFY_MASK_TEXT_H_
#define LOCKSTEP_VERIFY_MASK_TEXT_H_

#include <span>
#include <string>
#include <vector>

#include "reference/contract/mask.h"
#include "reference/contract/status.h"
#include "verify/case.h"
#include "verify/case_text.h"

namespace lockstep::verify {

// Reads up to the first character that cannot belong to the expression. Dense
// terms append their sources to `dense` and get its indices. And and Or are
// associative: `a&(b&c)` and `a&b&c` are the same tree, one node with three
// children; brackets around a single term leave no trace.
Result<MaskExpr> ParseMask(Scanner& in, std::vector<DenseSource>* dense);

// Inverse of ParseMask on trees of that form, with as few brackets as can be.
// Requires: dense indices of `mask` below dense.size().
std::string FormatMask(const MaskExpr& mask,
                       std::span<const DenseSource> dense);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_MASK_TEXT_H_
