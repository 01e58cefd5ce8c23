#include "reference/contract/attention_varlen.h"

#include <algorithm>
#include <array>
#include <string>

#include "reference/contract/attention_checks.h"
#include "reference/contract/checks.h"

namespace lockstep {
namespace {

using checks::Text;

// Row b has as many tokens in the table as the problem's counts say, and the
// tensors have as many as the table.
template <class Count>
Status CheckTable(const char* name, const TensorView<const int32_t, 1>& table,
                  int64_t batch, int64_t tokens, const Count& count) {
  const Status status =
      checks::CheckTensor(name, table, std::array<int64_t, 1>{batch + 1});
  if (!status.ok()) return status;
  int64_t want = 0;
  for (int64_t b = 0; b <= batch; ++b) {
    if (table(b) != want) {
      return Status::Error(std::string(name) + "[" + Text(b) + "] is " +
                           Text(table(b)) + "; want " + Text(want));
    }
    if (b < batch) want += count(b);
  }
  if (want <= tokens) return Status();
  return Status::Error(std::string(name) + " ends at " + Text(want) +
                       "; the tensors have " + Text(tokens) + " tokens");
}

Status CheckTokens(const char* name, const LaneView& x, int64_t heads,
                   int64_t channels, Lane lane) {
  const Status status = checks::CheckLaneTensor(
      name, x, std::array<int64_t, 4>{1, heads, x.shape[2], channels}, lane);
  if (!status.ok() || x.strides[3] == 1 || channels == 1) return status;
  return Status::Error(std::string(name) + " has channels " +
                       Text(x.strides[3]) + " elements apart; want 1");
}

Status CheckTokensOut(const AttentionForwardProblem& p, int64_t tokens,
                      const AttentionForwardOutputs& out) {
  const std::array<int64_t, 4> o = {1, p.q_heads, tokens, p.value_dim};
  const std::array<int64_t, 3> lse = {1, p.q_heads, tokens};
  Status status = checks::CheckLaneTensor("o", out.o, o, p.lane);
  if (status.ok()) status = checks::CheckNoOverlap("o", o, out.o.strides);
  if (status.ok()) status = checks::CheckTensor("lse", out.lse, lse);
  if (!status.ok()) return status;
  return checks::CheckNoOverlap("lse", lse, out.lse.strides);
}

}  // namespace

AttentionForwardInputs RowsOfTokens(const AttentionForwardInputs& inputs,
                                    const AttentionForwardProblem& p) {
  AttentionForwardInputs rows = inputs;
  rows.q = RowsOfTokens(inputs.q, p.batch, p.q_len);
  rows.k = RowsOfTokens(inputs.k, p.batch, p.kv_len);
  rows.v = RowsOfTokens(inputs.v, p.batch, p.kv_len);
  return rows;
}

AttentionForwardOutputs RowsOfTokens(const AttentionForwardOutputs& outputs,
                                     const AttentionForwardProblem& p) {
  return {RowsOfTokens(outputs.o, p.batch, p.q_len),
          RowsOfTokens(outputs.lse, p.batch, p.q_len)};
}

Status CheckVarlen(const AttentionForwardProblem& p,
                   const AttentionForwardInputs& in, const VarlenRows& rows,
                   const AttentionForwardOutputs& out) {
  Status status = Validate(p);
  if (status.ok()) {
    status = CheckTokens("q", in.q, p.q_heads, p.head_dim, p.lane);
  }
  if (status.ok()) {
    status = CheckTokens("k", in.k, p.kv_heads, p.head_dim, p.lane);
  }
  if (status.ok()) {
    status = CheckTokens("v", in.v, p.kv_heads, p.value_dim, p.lane);
  }
  if (status.ok()) {
    status = checks::CheckAttentionInputs(p, RowsOfTokens(in, p));
  }
  if (!status.ok()) return status;
  const int64_t keys = std::min(in.k.shape[2], in.v.shape[2]);
  return checks::FirstError(
      {CheckTable("cu_seqlens_q", rows.cu_q, p.batch, in.q.shape[2],
                  [&](int64_t b) { return in.ValidQ(p, b); }),
       CheckTable("cu_seqlens_k", rows.cu_kv, p.batch, keys,
                  [&](int64_t b) { return in.ValidKv(p, b); }),
       CheckTokensOut(p, in.q.shape[2], out)});
}

}  // namespace lockstep
