#include "verify/case/attention_forward/varlen.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/views.h"

namespace lockstep::verify {
namespace {

Status Refuse(const std::string& key, const std::string& why) {
  return Status::Error("layout=varlen does not go with " + key + ": " + why);
}

int64_t Sum(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

}  // namespace

std::vector<int32_t> RowStarts(const std::vector<int64_t>& lengths) {
  std::vector<int32_t> starts = {0};
  for (const int64_t length : lengths) {
    starts.push_back(starts.back() + static_cast<int32_t>(length));
  }
  return starts;
}

Status CheckVarlen(const Case& c, const AttentionForwardCase& a) {
  if (a.layout != Layout::kVarlen) return {};
  if (a.page.any()) {
    return Refuse("page", "keys lie in pages or end to end, not both");
  }
  if (a.strides != StrideOverrides{}) {
    return Refuse("strides", "tokens lie end to end");
  }
  if (c.shard) {
    return Refuse("shard", "shards are cut from rows of one length");
  }
  const AttentionForwardInputs in = InputShapes(a);
  const int64_t queries = Sum(in.valid_q);
  const int64_t keys = Sum(in.valid_kv);
  if (queries == 0) {
    return Status::Error(
        "layout=varlen: no row has a query; want a valid_q above 0");
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (std::max(queries, keys) + kTailTokens > kMost) {
    return Status::Error(
        "layout=varlen: " + std::to_string(std::max(queries, keys)) +
        " tokens are more than cu_seqlens can count");
  }
  return {};
}

Status CheckVarlenGradients(const AttentionForwardCase& a) {
  if (a.layout != Layout::kVarlen || Sum(InputShapes(a).valid_kv) > 0) {
    return {};
  }
  return Status::Error(
      "layout=varlen: no row has a key to have gradients; want a valid_kv "
      "above 0");
}

int64_t VarlenBytes(const AttentionForwardCase& c) {
  if (c.layout != Layout::kVarlen) return 0;
  const AttentionForwardInputs in = InputShapes(c);
  const auto lane = static_cast<int64_t>(LaneBytes(c.lane));
  // There are fewer than 2^31 tokens, and the contract limits a token's
  // channels.
  const int64_t queries = Sum(in.valid_q) + kTailTokens;
  const int64_t keys = Sum(in.valid_kv) + kTailTokens;
  return queries * c.q_heads * ((c.head_dim + c.value_dim) * lane + 4) +
         keys * c.kv_heads * (c.head_dim + c.value_dim) * lane;
}

}  // namespace lockstep::verify
