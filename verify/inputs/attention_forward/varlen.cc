#include "verify/inputs/attention_forward/varlen.h"

#include <algorithm>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/digest.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/varlen.h"
#include "verify/inputs/fill.h"

namespace lockstep::verify {
namespace {

std::vector<int32_t> QueryStarts(const AttentionForwardData& data) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < data.problem.batch; ++b) {
    lengths.push_back(data.inputs.ValidQ(data.problem, b));
  }
  return RowStarts(lengths);
}

std::vector<int32_t> KeyStarts(const AttentionForwardData& data) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < data.problem.batch; ++b) {
    lengths.push_back(data.inputs.ValidKv(data.problem, b));
  }
  return RowStarts(lengths);
}

int64_t Longest(const std::vector<int32_t>& starts) {
  int64_t longest = 0;
  for (size_t b = 0; b + 1 < starts.size(); ++b) {
    longest = std::max<int64_t>(longest, starts[b + 1] - starts[b]);
  }
  return longest;
}

}  // namespace

VarlenRows TokenTensors::rows() const {
  const auto entries = static_cast<int64_t>(cu_q.size());
  return {{cu_q.data(), {entries}, {1}}, {cu_kv.data(), {entries}, {1}}};
}

AttentionForwardInputs TokenTensors::InputsOf(
    const AttentionForwardData& data) const {
  AttentionForwardInputs inputs = data.inputs;
  inputs.q = q.const_view();
  inputs.k = k.const_view();
  inputs.v = v.const_view();
  return inputs;
}

std::string TokenTensors::StorageDigest() const {
  return DigestText(q.buffer.Digest() + k.buffer.Digest() + v.buffer.Digest());
}

Result<LaneTensor> TokensOf(const LaneView& from,
                            const std::vector<int32_t>& starts,
                            const VarlenSpec& spec, bool heads_first) {
  const int64_t end = starts.back();
  const auto& shape = from.shape;
  const std::array<int64_t, 4> packed = {1, shape[1], end + kTailTokens,
                                         shape[3]};
  const Layout layout = heads_first ? Layout::kBhsd : Layout::kThd;
  ASSIGN_OR_RETURN(
      LaneTensor tokens,
      AllocateLaneTensor(from.lane, packed, LayoutStrides(layout, packed),
                         spec.shift));
  for (size_t b = 0; b + 1 < starts.size(); ++b) {
    for (int64_t token = starts[b]; token < starts[b + 1]; ++token) {
      for (int64_t h = 0; h < shape[1]; ++h) {
        for (int64_t c = 0; c < shape[3]; ++c) {
          SetElement(tokens.view, {0, h, token, c},
                     ElementBits(from, {static_cast<int64_t>(b), h,
                                        token - starts[b], c}));
        }
      }
    }
  }
  return tokens;
}

Result<TokenTensors> MakeTokens(const AttentionForwardData& data) {
  TokenTensors tokens;
  tokens.cu_q = QueryStarts(data);
  tokens.cu_kv = KeyStarts(data);
  ASSIGN_OR_RETURN(tokens.q,
                   TokensOf(data.inputs.q, tokens.cu_q, *data.varlen));
  ASSIGN_OR_RETURN(tokens.k,
                   TokensOf(data.inputs.k, tokens.cu_kv, *data.varlen));
  ASSIGN_OR_RETURN(tokens.v,
                   TokensOf(data.inputs.v, tokens.cu_kv, *data.varlen));
  return tokens;
}

TokenRows QueryRows(const AttentionForwardData& data, float absent) {
  return {QueryStarts(data), kTailTokens, absent};
}

TokenRows KeyRowsOf(const AttentionForwardData& data, float absent) {
  return {KeyStarts(data), kTailTokens, absent};
}

void ReplaceByTokens(const char* name, const LaneTensor& tokens,
                     bool heads_first, KernelInputs* inputs) {
  const auto& n = tokens.view.shape;
  const auto& s = tokens.view.strides;
  for (NamedTensor& own : inputs->tensors) {
    if (own.name != name) continue;
    own.data = tokens.view.data;
    own.shape = {n[2], n[1], n[3]};
    own.strides = {s[2], s[1], s[3]};
    if (!heads_first) continue;
    own.shape = {n[1], n[2]};
    own.strides = {s[1], s[2]};
  }
}

void HandOverTokens(const TokenTensors& tokens, KernelInputs* inputs) {
  ReplaceByTokens("q", tokens.q, false, inputs);
  ReplaceByTokens("k", tokens.k, false, inputs);
  ReplaceByTokens("v", tokens.v, false, inputs);
  const auto entries = static_cast<int64_t>(tokens.cu_q.size());
  inputs->AddIntegers("cu_seqlens_q", {entries}, tokens.cu_q);
  inputs->AddIntegers("cu_seqlens_k", {entries}, tokens.cu_kv);
  inputs->scalars.push_back({"varlen", int64_t{1}});
  inputs->scalars.push_back({"max_seqlen_q", Longest(tokens.cu_q)});
  inputs->scalars.push_back({"max_seqlen_k", Longest(tokens.cu_kv)});
}

}  // namespace lockstep::verify
