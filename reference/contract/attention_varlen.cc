#include "reference/contract/attention_varlen.h"

#include <algorithm>
#include <array>
#include <string>

#include "reference/contract/attention_checks.h"
#include "reference/contract/checks.h"

namespace lockstep {
namespace {

using checks::Text;

// Checks that row b has as many tokens in the table as the problem's counts
// say, and that the tensors have as many as the table.
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

// The regions that are written.
Status CheckTokensOut(const char* name, const MutableLaneView& x,
                      const std::array<int64_t, 4>& shape, Lane lane) {
  const Status status = checks::CheckLaneTensor(name, x, shape, lane);
  if (!status.ok()) return status;
  return checks::CheckNoOverlap(name, shape, x.strides);
}

// The regions of q, k, v, the tables and all else that is only read.
Status CheckInputTokens(const AttentionForwardProblem& p,
                        const AttentionForwardInputs& in,
                        const VarlenRows& rows) {
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
                  [&](int64_t b) { return in.ValidKv(p, b); })});
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

AttentionBackwardInputs RowsOfTokens(const AttentionBackwardInputs& inputs,
                                     const AttentionBackwardProblem& problem) {
  const AttentionForwardProblem& p = problem.forward;
  AttentionBackwardInputs rows = inputs;
  rows.forward = RowsOfTokens(inputs.forward, p);
  rows.o = RowsOfTokens(inputs.o, p.batch, p.q_len);
  rows.d_o = RowsOfTokens(inputs.d_o, p.batch, p.q_len);
  rows.lse = RowsOfTokens(inputs.lse, p.batch, p.q_len);
  rows.dlse = RowsOfTokens(inputs.dlse, p.batch, p.q_len);
  return rows;
}

AttentionBackwardOutputs RowsOfTokens(const AttentionBackwardOutputs& outputs,
                                      const AttentionBackwardProblem& problem) {
  const AttentionForwardProblem& p = problem.forward;
  return {RowsOfTokens(outputs.dq, p.batch, p.q_len),
          RowsOfTokens(outputs.dk, p.batch, p.kv_len),
          RowsOfTokens(outputs.dv, p.batch, p.kv_len), outputs.dsink};
}

Status CheckVarlen(const AttentionForwardProblem& p,
                   const AttentionForwardInputs& in, const VarlenRows& rows,
                   const AttentionForwardOutputs& out) {
  const Status status = CheckInputTokens(p, in, rows);
  if (!status.ok()) return status;
  const int64_t tokens = in.q.shape[2];
  const std::array<int64_t, 3> lse = {1, p.q_heads, tokens};
  return checks::FirstError(
      {CheckTokensOut("o", out.o, {1, p.q_heads, tokens, p.value_dim}, p.lane),
       checks::CheckTensor("lse", out.lse, lse),
       checks::CheckNoOverlap("lse", lse, out.lse.strides)});
}

Status CheckVarlen(const AttentionBackwardProblem& problem,
                   const AttentionBackwardInputs& in, const VarlenRows& rows,
                   const AttentionBackwardOutputs& out) {
  const AttentionForwardProblem& p = problem.forward;
  Status status = Validate(problem);
  if (status.ok()) status = CheckInputTokens(p, in.forward, rows);
  if (!status.ok()) return status;
  const int64_t queries = in.forward.q.shape[2];
  const int64_t keys = in.forward.k.shape[2];
  const std::array<int64_t, 4> o = {1, p.q_heads, queries, p.value_dim};
  const std::array<int64_t, 3> lse = {1, p.q_heads, queries};
  status = checks::FirstError({checks::CheckLaneTensor("o", in.o, o, p.lane),
                               checks::CheckLaneTensor("do", in.d_o, o, p.lane),
                               checks::CheckTensor("lse", in.lse, lse)});
  if (status.ok() && problem.dlse) {
    status = checks::CheckTensor("dlse", in.dlse, lse);
  }
  if (!status.ok()) return status;
  const Lane lane = problem.grad_lane;
  status = checks::FirstError(
      {CheckTokensOut("dq", out.dq, {1, p.q_heads, queries, p.head_dim}, lane),
       CheckTokensOut("dk", out.dk, {1, p.kv_heads, keys, p.head_dim}, lane),
       CheckTokensOut("dv", out.dv, {1, p.kv_heads, keys, p.value_dim}, lane)});
  if (!status.ok() || !p.sink) return status;
  return checks::CheckTensor("dsink", out.dsink,
                             std::array<int64_t, 1>{p.q_heads});
}

}  // namespace lockstep
