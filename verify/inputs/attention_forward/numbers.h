// The values of q, k and v in fp8: elements times their scales, in f32.
// The truth reads these, and so does every check of a kernel's answer.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_NUMBERS_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_NUMBERS_H_

#include <vector>

#include "verify/inputs/attention_forward.h"

namespace lockstep::verify {

struct KeyNumbers {
  // The same problem and inputs, but k and v, and q if it is in fp8, are [b, h,
  // s, d], dense and in f32. Each element is multiplied by its scale and
  // rounded once. The scales stay in the inputs. All else refers to the memory
  // of the source. It owns no tensor.
  AttentionForwardData data;
  std::vector<float> q, k, v;  // what its q, k and v refer to
};

//   Requires: data.problem.kv_lane.
KeyNumbers MakeNumbers(const AttentionForwardData& data);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_NUMBERS_H_
