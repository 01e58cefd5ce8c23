// Rows that lie end to end (layout=varlen): how many tokens there are.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VARLEN_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VARLEN_H_

#include <cstdint>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// Tokens behind the last row, of queries and of keys: they are there, and
// nobody may read or write them.
inline constexpr int64_t kTailTokens = 3;

// Where rows of these lengths begin, and where the last one ends.
std::vector<int32_t> RowStarts(const std::vector<int64_t>& lengths);

// layout=varlen beside keys that it does not go with. Requires: extents and
// counts are legal.
Status CheckVarlen(const Case& c, const AttentionForwardCase& a);
// Of gradients: some row has a key, whose dk and dv can be held against the
// truth. Requires: CheckVarlen passes.
Status CheckVarlenGradients(const AttentionForwardCase& a);
// Bytes of the tensors whose rows lie end to end; 0 where they do not.
int64_t VarlenBytes(const AttentionForwardCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VARLEN_H_
