// Ragged batches (layout=varlen): the number of tokens, and what is refused.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VARLEN_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VARLEN_H_

#include <cstdint>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// The number of tokens behind the last row, for queries and for keys. They
// exist, and no kernel may read or write them.
inline constexpr int64_t kTailTokens = 3;

// The start of each row of these lengths, and the end of the last one.
std::vector<int32_t> RowStarts(const std::vector<int64_t>& lengths);

// Refuses keys that cannot be combined with layout=varlen. Requires: extents
// and counts are legal.
Status CheckVarlen(const Case& c, const AttentionForwardCase& a);
// For gradients: checks that some row has a key, so that there are dk and dv to
// compare with the truth. Requires: CheckVarlen passes.
Status CheckVarlenGradients(const AttentionForwardCase& a);
// Bytes of the tensors of tokens; 0 unless layout=varlen.
int64_t VarlenBytes(const AttentionForwardCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VARLEN_H_
