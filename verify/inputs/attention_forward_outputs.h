// Memory for what attention_forward writes.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_OUTPUTS_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_OUTPUTS_H_

#include <cstdint>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// The outputs of one case, poisoned; `lse` is dense f32 [b, h, s].
struct AttentionForwardOutputBuffers {
  LaneTensor o;
  LaneTensor lse;  // shape [b, h, s, 1]

  AttentionForwardOutputs view() const;
  void Poison();
  bool GuardsIntact() const;  // and padding
  int64_t Unwritten() const;  // elements of o and lse still poisoned
};

// Requires: ValidateCase passes. `shift` as above.
Result<AttentionForwardOutputBuffers> AllocateOutputs(
    const AttentionForwardCase& c, int64_t shift);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_OUTPUTS_H_
