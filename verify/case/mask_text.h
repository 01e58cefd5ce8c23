// Mask expressions as text: `full causal window:L,R chunked:C prefix:P[,P..]
// sink:N dense:PATH[#DIGEST] random:DENSITY blocks:BQxBK:DENSITY
// blocks:BQxBK:file:PATH[#DIGEST] index:K[:uniform|ascending|recent]
// index:K:file:PATH[#DIGEST]`, with `&` (binds tighter), `|` and brackets.
// Meaning: reference/mask.h.
#ifndef LOCKSTEP_VERIFY_CASE_MASK_TEXT_H_
#define LOCKSTEP_VERIFY_CASE_MASK_TEXT_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/mask.h"
#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {

// Reads up to the first character that cannot belong to the expression. Dense
// terms append their sources to `dense` and get its indices. And and Or are
// associative: `a&(b&c)` and `a&b&c` are the same tree, one node with three
// children; brackets around a single term leave no trace.
Result<MaskExpr> ParseMask(Scanner& in, std::vector<DenseSource>* dense);

// Names of the terms: "causal", "window" and so on.
std::span<const std::string_view> MaskTerms();

// Inverse of ParseMask on trees of that form, with as few brackets as can be.
// Requires: dense indices of `mask` below dense.size().
std::string FormatMask(const MaskExpr& mask,
                       std::span<const DenseSource> dense);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_MASK_TEXT_H_
