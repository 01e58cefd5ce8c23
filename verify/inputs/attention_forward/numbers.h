// What keys and values in fp8 stand for: bytes times their scales, in f32. The
// truth, and whatever a kernel's answer is measured by, reads these.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_NUMBERS_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_NUMBERS_H_

#include <vector>

#include "verify/inputs/attention_forward.h"

namespace lockstep::verify {

struct KeyNumbers {
  // The same problem and inputs, but k and v [b, h, s, d] dense and in f32,
  // each element times its scale and rounded once. The scales are there, too.
  // All else refers to the memory of the source. It owns no tensor.
  AttentionForwardData data;
  std::vector<float> k, v;  // what its k and v refer to
};

//   Requires: data.problem.kv_lane.
KeyNumbers MakeNumbers(const AttentionForwardData& data);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_NUMBERS_H_
