// Tensors of gradients whose rows lie end to end, as a case with layout=varlen
// hands them to a kernel.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_BACKWARD_VARLEN_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_BACKWARD_VARLEN_H_

#include <string>

#include "reference/contract/attention_varlen.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/inputs/attention_backward/data.h"
#include "verify/inputs/attention_forward/varlen.h"
#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

struct GradientTokens {
  TokenTensors forward;
  LaneTensor o, d_o;     // [1, h, token, d]
  LaneTensor lse, dlse;  // [1, h, token, 1]; dlse is empty without one

  VarlenRows rows() const { return forward.rows(); }
  // The inputs with tensors of these tokens.
  AttentionBackwardInputs InputsOf(const AttentionBackwardData& data) const;
  std::string StorageDigest() const;
};

// As MakeTokens of the forward op.  Requires: data.forward.varlen.
Result<GradientTokens> MakeTokens(const AttentionBackwardData& data);

// Cotangents of rows that do not exist become 0: dsink is a sum over all rows
// that the truth has.
void ClearAbsentRows(AttentionBackwardData* data);

// As HandOverTokens of the forward op, and o, lse, do and dlse.
void HandOverTokens(const GradientTokens& tokens, KernelInputs* inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_BACKWARD_VARLEN_H_
