// A second copy of a case's inputs, which can be changed and judged separately.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_CLONE_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_CLONE_H_

#include "reference/contract/status.h"
#include "verify/inputs/attention_forward.h"

namespace lockstep::verify {

// Same bytes, shapes and strides, buffers on 64-byte boundaries. Errors:
// memory.
Result<AttentionForwardData> Clone(const AttentionForwardData& data);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_CLONE_H_
