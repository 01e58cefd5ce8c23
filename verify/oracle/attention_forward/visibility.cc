#include "verify/oracle/attention_forward/visibility.h"

#include <algorithm>
#include <cstddef>

namespace lockstep::oracle {
namespace {

// No position or bound beyond this decides anything: extents are < 2^27 and
// offsets < 2^41.
constexpr int64_t kFar = int64_t{1} << 50;

// Appends, joining with the last interval where they touch.
void Append(KeyInterval next, KeySet* set) {
  if (next.begin >= next.end) return;
  if (!set->empty() && next.begin <= set->back().end) {
    set->back().end = std::max(set->back().end, next.end);
  } else {
    set->push_back(next);
  }
}

int64_t ChunkStart(int64_t position, int64_t chunk) {
  const int64_t rest = position % chunk;
  return position - (rest < 0 ? rest + chunk : rest);
}

}  // namespace

KeySet Intersect(const KeySet& a, const KeySet& b) {
  KeySet both;
  for (size_t x = 0, y = 0; x < a.size() && y < b.size();) {
    Append({std::max(a[x].begin, b[y].begin), std::min(a[x].end, b[y].end)},
           &both);
    a[x].end < b[y].end ? ++x : ++y;
  }
  return both;
}

KeySet Unite(const KeySet& a, const KeySet& b) {
  KeySet any;
  size_t x = 0, y = 0;
  while (x < a.size() || y < b.size()) {
    const bool from_a =
        y == b.size() || (x < a.size() && a[x].begin <= b[y].begin);
    Append(from_a ? a[x++] : b[y++], &any);
  }
  return any;
}

int64_t CountKeys(const KeySet& keys) {
  int64_t count = 0;
  for (const KeyInterval& run : keys) count += run.end - run.begin;
  return count;
}

Visibility::Visibility(const AttentionForwardProblem& problem,
                       const AttentionForwardInputs& inputs)
    : problem_(problem), inputs_(inputs) {
  const auto batch = static_cast<size_t>(problem.batch);
  runs_.resize(batch);
  keys_of_id_.resize(batch);
  for (size_t b = 0; b < batch; ++b) {
    if (!problem.segments) {
      runs_[b] = {{0, problem.kv_len}};
      continue;
    }
    const auto id = [&](int64_t j) { return inputs.kv_seg(b, j); };
    for (int64_t j = 0; j < problem.kv_len;) {
      int64_t end = j + 1;
      while (end < problem.kv_len && id(end) == id(j)) ++end;
      runs_[b].push_back({j, end});
      Append({j, end}, &keys_of_id_[b][id(j)]);
      j = end;
    }
  }
}

KeySet Visibility::Range(int64_t begin, int64_t end) const {
  KeySet keys;
  Append({std::max<int64_t>(begin, 0), std::min(end, problem_.kv_len)}, &keys);
  return keys;
}

KeySet Visibility::Evaluate(const MaskExpr& mask, int64_t b, int64_t h,
                            int64_t i, int64_t position) const {
  KeySet keys;
  switch (mask.kind) {
    case MaskExpr::Kind::kFull:
      return Range(0, problem_.kv_len);
    case MaskExpr::Kind::kCausal:
      return Range(0, position + 1);
    case MaskExpr::Kind::kWindow: {
      const int64_t left = mask.left == kUnlimited ? kFar : mask.left;
      const int64_t right = mask.right == kUnlimited ? kFar : mask.right;
      return Range(position - std::min(left, kFar),
                   position + std::min(right, kFar) + 1);
    }
    case MaskExpr::Kind::kChunked:
      return Range(ChunkStart(position, mask.chunk), position + 1);
    case MaskExpr::Kind::kPrefix: {
      const size_t row = mask.prefix.size() == 1 ? 0 : static_cast<size_t>(b);
      return Range(0, std::max(position + 1, mask.prefix[row]));
    }
    case MaskExpr::Kind::kSink:
      for (const KeyInterval& run : runs_[static_cast<size_t>(b)]) {
        const int64_t tokens = std::min(mask.tokens, run.end - run.begin);
        Append({run.begin, run.begin + tokens}, &keys);
      }
      return keys;
    case MaskExpr::Kind::kDense: {
      const auto& dense = inputs_.dense_masks[mask.dense];
      const int64_t db = dense.shape[0] == 1 ? 0 : b;
      const int64_t dh = dense.shape[1] == 1 ? 0 : h;
      const int64_t row = i / mask.block_q;
      for (int64_t c = 0; c < dense.shape[3]; ++c) {
        if (dense(db, dh, row, c) == 0) continue;
        const int64_t begin = c * mask.block_k;
        Append({begin, std::min(begin + mask.block_k, problem_.kv_len)}, &keys);
      }
      return keys;
    }
    case MaskExpr::Kind::kAnd:
      keys = Range(0, problem_.kv_len);
      for (const MaskExpr& child : mask.children) {
        keys = Intersect(keys, Evaluate(child, b, h, i, position));
      }
      return keys;
    case MaskExpr::Kind::kOr:
      for (const MaskExpr& child : mask.children) {
        keys = Unite(keys, Evaluate(child, b, h, i, position));
      }
      return keys;
  }
  return keys;
}

KeySet Visibility::VisibleKeys(int64_t b, int64_t h, int64_t i) const {
  if (i >= inputs_.ValidQ(problem_, b)) return {};
  const int64_t position = i + inputs_.Offset(problem_, b);
  KeySet keys = Intersect(Evaluate(problem_.mask(h), b, h, i, position),
                          Range(0, inputs_.ValidKv(problem_, b)));
  if (!problem_.segments) return keys;
  const auto& ids = keys_of_id_[static_cast<size_t>(b)];
  const auto own = ids.find(inputs_.q_seg(b, i));
  return own == ids.end() ? KeySet{} : Intersect(keys, own->second);
}

}  // namespace lockstep::oracle
