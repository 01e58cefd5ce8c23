// Long sequences made short, with the same masks, documents and heads.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "verify/case/attention_backward.h"
#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_backward.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// Sink tokens that stay as many as they are.
constexpr int64_t kFewTokens = 8;
// Sides and heads of gradients, whose bugs are replayed on all of a case: its
// rows have sums in common.
constexpr int64_t kGradientSide = 64;
constexpr int64_t kGradientHeads = 4;

void ScaleMask(int64_t from, int64_t to, MaskExpr* mask) {
  mask->left = Scaled(mask->left, from, to);
  mask->right = Scaled(mask->right, from, to);
  mask->chunk = Scaled(mask->chunk, from, to);
  if (mask->tokens > kFewTokens) mask->tokens = Scaled(mask->tokens, from, to);
  for (int64_t& prefix : mask->prefix) prefix = Scaled(prefix, from, to);
  for (MaskExpr& child : mask->children) ScaleMask(from, to, &child);
}

void Shrink(int64_t side, AttentionForwardCase* a) {
  const int64_t queries = a->q_len, keys = a->kv_len;
  a->q_len = TwinLength(queries, side);
  a->kv_len = TwinLength(keys, side);
  ScaleRuns(&a->q_seg, queries, a->q_len);
  ScaleRuns(&a->kv_seg, keys, a->kv_len);
  for (int64_t& count : a->valid_q) count = Scaled(count, queries, a->q_len);
  for (int64_t& count : a->valid_kv) count = Scaled(count, keys, a->kv_len);
  ScaleMask(keys, a->kv_len, &a->mask);
  for (auto& [head, mask] : a->head_mask) ScaleMask(keys, a->kv_len, &mask);
  const int64_t back = a->align.offset < 0 ? -1 : 1;
  a->align.offset = back * Scaled(std::abs(a->align.offset), keys, a->kv_len);
  a->strides = {};
}

// The first heads, in groups of what the size was, or of two.
void FewerHeads(AttentionForwardCase* a) {
  if (a->q_heads <= kGradientHeads) return;
  const int64_t group = std::min<int64_t>(a->q_heads / a->kv_heads, 2);
  a->q_heads = kGradientHeads;
  a->kv_heads = kGradientHeads / group;
  a->head_mask.erase(a->head_mask.lower_bound(a->q_heads), a->head_mask.end());
}

std::optional<Case> Changed(const Case& c, Case twin) {
  const std::optional<Case> normal = NormalForm(twin);
  if (!normal || normal == c) return std::nullopt;
  return normal;
}

}  // namespace

std::optional<Case> SmallAttention(const Case& c, int64_t side) {
  if (NamesFiles(c)) return std::nullopt;
  Case twin = c;
  Shrink(side, &twin.Get<AttentionForwardCase>());
  return Changed(c, std::move(twin));
}

std::optional<Case> SmallAttentionBackward(const Case& c, int64_t side) {
  if (NamesFiles(c)) return std::nullopt;
  Case twin = c;
  AttentionBackwardCase& a = twin.Get<AttentionBackwardCase>();
  Shrink(std::min(side, kGradientSide), &a);
  FewerHeads(&a);
  return Changed(c, std::move(twin));
}

}  // namespace lockstep::verify
