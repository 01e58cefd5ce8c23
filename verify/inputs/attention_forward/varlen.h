// The queries, keys and values of a ragged batch, as a case with layout=varlen
// passes them to a kernel. The truth is computed from padded rows with their
// counts.
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
  // The inputs of `data`, with these tokens as q, k and v.
  AttentionForwardInputs InputsOf(const AttentionForwardData& data) const;
  // The digest of every byte, including guard zones and tokens behind the last
  // row.
  std::string StorageDigest() const;
};

// Packs the rows. Tokens behind the last row hold NaN, or large numbers for a
// kernel that computes with what it masks. Errors: memory.
//   Requires: data.varlen.
Result<TokenTensors> MakeTokens(const AttentionForwardData& data);

// Packs the rows of `from` [b, h, s, c], which begin at `starts`, one after the
// other. The order in memory is [tokens, h, c]. With `heads_first`, where c is
// 1, it is [h, tokens].
Result<LaneTensor> TokensOf(const LaneView& from,
                            const std::vector<int32_t>& starts,
                            const VarlenSpec& spec, bool heads_first = false);
// Replaces the input of that name by [tokens, h, c], or, with `heads_first`, by
// [h, tokens].
void ReplaceByTokens(const char* name, const LaneTensor& tokens,
                     bool heads_first, KernelInputs* inputs);

// The layout of outputs that have a row per query, or a row per key.
TokenRows QueryRows(const AttentionForwardData& data, float absent);
TokenRows KeyRowsOf(const AttentionForwardData& data, float absent);

// q, k and v as [tokens, h, d], cu_seqlens_q, cu_seqlens_k, and the scalars
// varlen, max_seqlen_q and max_seqlen_k: docs/wire.md. Refers to the tokens.
void HandOverTokens(const TokenTensors& tokens, KernelInputs* inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_VARLEN_H_
