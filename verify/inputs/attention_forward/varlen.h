// Queries, keys and values of rows that lie end to end, as a case with
// layout=varlen hands them to a kernel. The truth is computed from rows of one
// length, with their counts.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_VARLEN_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_VARLEN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_varlen.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/named_tensor.h"
#include "verify/inputs/varlen/token_rows.h"

namespace lockstep::verify {

struct TokenTensors {
  LaneTensor q, k, v;  // [1, h, token, d]
  std::vector<int32_t> cu_q, cu_kv;

  VarlenRows rows() const;
  // The inputs with q, k and v of these tokens.
  AttentionForwardInputs InputsOf(const AttentionForwardData& data) const;
  // Of every byte, guard zones and the tokens behind the last row included.
  std::string StorageDigest() const;
};

// Tokens behind the last row hold NaN; of a kernel that computes with what it
// masks, large numbers. Errors: memory.
//   Requires: data.varlen.
Result<TokenTensors> MakeTokens(const AttentionForwardData& data);

// The rows of `from` [b, h, s, c], `starts` of them, one after the other, in
// the order [tokens, h, c] of memory; of one channel, where `heads_first`, in
// that of [h, tokens].
Result<LaneTensor> TokensOf(const LaneView& from,
                            const std::vector<int32_t>& starts,
                            const VarlenSpec& spec, bool heads_first = false);
// In place of the input of that name: [tokens, h, c], or, where `heads_first`,
// [h, tokens].
void ReplaceByTokens(const char* name, const LaneTensor& tokens,
                     bool heads_first, KernelInputs* inputs);

// How outputs lie that have a value for every query, and for every key.
TokenRows QueryRows(const AttentionForwardData& data, float absent);
TokenRows KeyRowsOf(const AttentionForwardData& data, float absent);

// q, k and v as [tokens, h, d], cu_seqlens_q, cu_seqlens_k, and the scalars
// varlen, max_seqlen_q and max_seqlen_k: docs/wire.md. Refers to the tokens.
void HandOverTokens(const TokenTensors& tokens, KernelInputs* inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_VARLEN_H_
