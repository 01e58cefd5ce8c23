#include "verify/inputs/attention_forward/pick_masks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "reference/mask.h"
#include "verify/inputs/attention_forward/pick.h"

namespace lockstep::verify {
namespace {

using Kind = MaskExpr::Kind;

bool AsksForPositions(const MaskExpr& mask) {
  switch (mask.kind) {
    case Kind::kCausal:
    case Kind::kWindow:
    case Kind::kChunked:
    case Kind::kPrefix:
      return true;
    default:
      break;
  }
  return std::any_of(mask.children.begin(), mask.children.end(),
                     [](const MaskExpr& m) { return AsksForPositions(m); });
}

}  // namespace

bool AsksForPositions(const AttentionForwardProblem& problem) {
  return std::any_of(problem.masks.begin(), problem.masks.end(),
                     [](const MaskExpr& m) { return AsksForPositions(m); });
}

PickedMasks::PickedMasks(const AttentionForwardData& from,
                         const AttentionPick& pick)
    : from_(from),
      pick_(pick),
      inputs_(from.inputs),
      terms_(from.inputs.dense_masks.size()) {
  inputs_.valid_q.clear();
  inputs_.valid_kv.clear();
  for (size_t n = 0; n < terms_.size(); ++n) {
    terms_[n].mask.kind = Kind::kDense;
    terms_[n].mask.dense = n;
  }
}

MaskExpr PickedMasks::MakeDense(const MaskExpr& term) {
  MaskExpr dense;
  dense.kind = Kind::kDense;
  dense.dense = terms_.size();
  if (term.kind == Kind::kDense) {
    terms_[term.dense] = {term, false, {}};
    dense.dense = term.dense;
    return dense;
  }
  for (size_t n = from_.inputs.dense_masks.size(); n < terms_.size(); ++n) {
    if (terms_[n].mask == term) dense.dense = n;
  }
  if (dense.dense < terms_.size()) return dense;
  AttentionForwardProblem only = from_.problem;
  only.masks = {term};
  only.segments = false;
  only.align = {Alignment::Kind::kOffset,
                from_.inputs.Offset(only, pick_.rows.front())};
  terms_.push_back({term, false, std::move(only)});
  return dense;
}

MaskExpr PickedMasks::Cut(const MaskExpr& mask) {
  MaskExpr cut = mask;
  for (MaskExpr& child : cut.children) child = Cut(child);
  const int64_t first = pick_.first_key;
  switch (mask.kind) {
    case Kind::kChunked:
      return first % mask.chunk == 0 ? cut : MakeDense(mask);
    case Kind::kSink:
      // A run may have begun before.
      return first == 0 ? cut : MakeDense(mask);
    case Kind::kDense:
      return mask.block_q == 1 && mask.block_k == 1 ? cut : MakeDense(mask);
    case Kind::kPrefix:
      for (int64_t& count : cut.prefix) {
        count = std::max<int64_t>(count - first, 0);
      }
      return cut;
    default:
      return cut;
  }
}

bool PickedMasks::Blocks(size_t n) const {
  if (!terms_[n].whole) return false;
  const auto& shape = from_.inputs.dense_masks[n].shape;
  return shape[2] != from_.problem.q_len || shape[3] != from_.problem.kv_len;
}

std::array<int64_t, 4> PickedMasks::Shape(size_t n, int64_t queries,
                                          int64_t keys) const {
  const bool source = n < from_.inputs.dense_masks.size();
  std::array<int64_t, 4> shape = {std::ssize(pick_.rows), 1, queries, keys};
  if (!source) return shape;
  const auto& own = from_.inputs.dense_masks[n].shape;
  if (own[0] == 1) shape[0] = 1;
  if (own[1] != 1) shape[1] = std::ssize(pick_.q_heads);
  if (Blocks(n)) std::copy(own.begin() + 2, own.end(), shape.begin() + 2);
  return shape;
}

bool PickedMasks::Element(size_t n, int64_t b, int64_t h,
                          const std::array<int64_t, 2>& at) const {
  const Term& term = terms_[n];
  const int64_t row = pick_.rows[static_cast<size_t>(b)];
  if (term.mask.kind != Kind::kDense) {
    return reference::IsVisible(term.only, inputs_, row, 0, at[0], at[1]);
  }
  const TensorView<const uint8_t, 4>& source = from_.inputs.dense_masks[n];
  const int64_t head =
      source.shape[1] == 1 ? 0 : pick_.q_heads[static_cast<size_t>(h)];
  const int64_t i = term.whole ? at[0] : at[0] / term.mask.block_q;
  const int64_t j = term.whole ? at[1] : at[1] / term.mask.block_k;
  return source(source.shape[0] == 1 ? 0 : row, head, i, j) != 0;
}

}  // namespace lockstep::verify
