// Lists of keys, one for each query and kv head: mask=index:K.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_LISTS_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_LISTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {

// The dense index of the case's index term, if it has one.
std::optional<size_t> ListTerm(const AttentionForwardCase& c);

// Batch rows and heads of the mask that a term draws or that lists make: 1 for
// an axis on which all are alike.
std::array<int64_t, 2> MasksOf(const AttentionForwardCase& c,
                               const DenseSource& source);

// Rows and columns of the tensor of a term.
std::array<int64_t, 2> ExtentsOf(const AttentionForwardCase& c,
                                 const DenseSource& source);

// Refuses two index terms, K below 1 or above kMaxLength, and lists beyond
// kMaxTensorBytes.  Requires: extents within the contract's limits.
Status CheckLists(const AttentionForwardCase& c);

// Memory of the lists: 4 bytes an entry, [b, hkv, sq, K]; 0 without.
//   Requires: as above.
int64_t ListBytes(const AttentionForwardCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_LISTS_H_
