// The tensors of gradients of a ragged batch, as a case with layout=varlen
// passes them to a kernel.
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

// Like MakeTokens of the forward op.  Requires: data.forward.varlen.
Result<GradientTokens> MakeTokens(const AttentionBackwardData& data);

// Sets cotangents of rows that do not exist to 0: the truth's dsink is a sum
// over all rows, padding included.
void ClearAbsentRows(AttentionBackwardData* data);

// Like HandOverTokens of the forward op, with o, lse, do and dlse.
void HandOverTokens(const GradientTokens& tokens, KernelInputs* inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_BACKWARD_VARLEN_H_
