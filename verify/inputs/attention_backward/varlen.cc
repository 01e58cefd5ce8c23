#include "verify/inputs/attention_backward/varlen.h"

#include "verify/base/digest.h"
#include "verify/base/elements.h"
#include "verify/base/row_view.h"
#include "verify/base/status_macros.h"

namespace lockstep::verify {
AttentionBackwardInputs GradientTokens::InputsOf(
    const AttentionBackwardData& data) const {
  AttentionBackwardInputs inputs = data.inputs;
  inputs.forward = forward.InputsOf(data.forward);
  inputs.o = o.const_view();
  inputs.d_o = d_o.const_view();
  inputs.lse = RowView(lse.const_view());
  if (data.problem.dlse) inputs.dlse = RowView(dlse.const_view());
  return inputs;
}

std::string GradientTokens::StorageDigest() const {
  return DigestText(forward.StorageDigest() + o.buffer.Digest() +
                    d_o.buffer.Digest() + lse.buffer.Digest() +
                    dlse.buffer.Digest());
}

Result<GradientTokens> MakeTokens(const AttentionBackwardData& data) {
  const VarlenSpec& spec = *data.forward.varlen;
  GradientTokens tokens;
  ASSIGN_OR_RETURN(tokens.forward, MakeTokens(data.forward));
  const auto& starts = tokens.forward.cu_q;
  ASSIGN_OR_RETURN(tokens.o, TokensOf(data.o.const_view(), starts, spec));
  ASSIGN_OR_RETURN(tokens.d_o, TokensOf(data.d_o.const_view(), starts, spec));
  ASSIGN_OR_RETURN(tokens.lse,
                   TokensOf(data.lse.const_view(), starts, spec, true));
  if (!data.problem.dlse) return tokens;
  ASSIGN_OR_RETURN(tokens.dlse,
                   TokensOf(data.dlse.const_view(), starts, spec, true));
  return tokens;
}

void ClearAbsentRows(AttentionBackwardData* data) {
  if (!data->forward.varlen || !data->problem.dlse) return;
  const AttentionForwardProblem& p = data->problem.forward;
  ForElements(data->dlse.view.shape, [&](const At& at) {
    if (at[2] < data->inputs.forward.ValidQ(p, at[0])) return;
    SetElement(data->dlse.view, at, 0);
  });
}

void HandOverTokens(const GradientTokens& tokens, KernelInputs* inputs) {
  HandOverTokens(tokens.forward, inputs);
  ReplaceByTokens("o", tokens.o, false, inputs);
  ReplaceByTokens("do", tokens.d_o, false, inputs);
  ReplaceByTokens("lse", tokens.lse, true, inputs);
  ReplaceByTokens("dlse", tokens.dlse, true, inputs);
}

}  // namespace lockstep::verify
