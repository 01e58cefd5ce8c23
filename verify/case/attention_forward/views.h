// A case as the contract's structs, before there is any memory.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VIEWS_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VIEWS_H_

#include <cstdint>

#include "reference/contract/attention_forward.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// Bytes from the first to the last element of a tensor, at most. The judge and
// the process of a kernel hold copies of all tensors, of several cases at a
// time, and together these have 2^47.
inline constexpr int64_t kMostReach = int64_t{1} << 43;

// Shapes, lanes, strides and counts; every data pointer is null. Counts given
// once stand for every batch row. A mask that comes from a file has one row and
// one head here.
//   Requires: extents within the contract's limits.
AttentionForwardInputs InputShapes(const AttentionForwardCase& c);
AttentionForwardOutputs OutputShapes(const AttentionForwardCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VIEWS_H_
