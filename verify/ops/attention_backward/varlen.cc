// Gradients of ragged batches: which rows exist, and their places in memory.
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "verify/base/digest.h"
#include "verify/ops/attention_backward/trial.h"

namespace lockstep::verify {

bool AttentionBackwardTrial::HasQuery(int64_t b, int64_t i) const {
  const AttentionForwardInputs& in = data_.inputs.forward;
  return !data_.forward.varlen || i < in.ValidQ(data_.problem.forward, b);
}

bool AttentionBackwardTrial::HasKey(int64_t b, int64_t j) const {
  const AttentionForwardInputs& in = data_.inputs.forward;
  return !data_.forward.varlen || j < in.ValidKv(data_.problem.forward, b);
}

const Result<GradientTokens>& AttentionBackwardTrial::tokens() const {
  std::call_once(tokens_made_, [&] { tokens_ = MakeTokens(data_); });
  return *tokens_;
}

std::vector<std::string> AttentionBackwardTrial::NeededWants() const {
  if (data_.forward.varlen) return {kVarlenWant};
  return {};
}

std::optional<TokenRows> AttentionBackwardTrial::RowsEndToEnd(
    const std::string& output) const {
  if (!data_.forward.varlen || output == "dsink") return std::nullopt;
  constexpr float kEmptyLse = -std::numeric_limits<float>::infinity();
  if (output == "own_lse") return QueryRows(data_.forward, kEmptyLse);
  const bool keys = output == "dk" || output == "dv";
  return keys ? KeyRowsOf(data_.forward, 0) : QueryRows(data_.forward, 0);
}

std::string AttentionBackwardTrial::StorageDigest() const {
  const std::string digest = data_.StorageDigest();
  if (!data_.forward.varlen || !tokens().ok()) return digest;
  return DigestText(digest + tokens()->StorageDigest());
}

}  // namespace lockstep::verify
