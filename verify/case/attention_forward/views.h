// A case as the contract's structs, before there is any memory.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VIEWS_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VIEWS_H_

#include "reference/contract/attention_forward.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// Shapes, lanes, strides and counts; every data pointer is null. Counts given
// once stand for every batch row. A mask that comes from a file has one row and
// one head here.
//   Requires: extents within the contract's limits.
AttentionForwardInputs InputShapes(const AttentionForwardCase& c);
AttentionForwardOutputs OutputShapes(const AttentionForwardCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_VIEWS_H_
