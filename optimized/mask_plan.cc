#include "optimized/mask_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "optimized/row_keys.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"

namespace lockstep::optimized {
namespace {

TileClass And(TileClass a, TileClass b) { return std::min(a, b); }
TileClass Or(TileClass a, TileClass b) { return std::max(a, b); }

TileClass FromBounds(bool full, bool empty) {
  if (full) return TileClass::kFull;
  return empty ? TileClass::kEmpty : TileClass::kPartial;
}

// Sets the bit of every key in `keys` for which the predicate holds.
template <typename Predicate>
void SetWhere(Range keys, int64_t begin, std::span<uint64_t> words,
              const Predicate& predicate) {
  const int64_t end =
      std::min(keys.end, begin + static_cast<int64_t>(words.size()) * 64);
  for (int64_t j = begin; j < end; j += 64) {
    const int64_t count = std::min<int64_t>(64, end - j);
    uint64_t word = 0;
    for (int64_t k = 0; k < count; ++k) {
      word |= static_cast<uint64_t>(predicate(j + k)) << k;
    }
    words[static_cast<size_t>((j - begin) / 64)] |= word;
  }
}

}  // namespace

MaskPlan::MaskPlan(const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& inputs, int64_t batch,
                   int64_t tile_keys)
    : problem_(&problem),
      inputs_(&inputs),
      batch_(batch),
      valid_q_(inputs.ValidQ(problem, batch)),
      valid_kv_(inputs.ValidKv(problem, batch)),
      offset_(inputs.Offset(problem, batch)),
      run_position_(static_cast<size_t>(problem.kv_len)) {
  const auto& seg = inputs.kv_seg;
  for (int64_t j = 1; j < problem.kv_len; ++j) {
    const bool same = !problem.segments || seg(batch, j) == seg(batch, j - 1);
    const auto at = static_cast<size_t>(j);
    run_position_[at] = same ? run_position_[at - 1] + 1 : 0;
  }
  for (int64_t begin = 0; begin < problem.kv_len; begin += tile_keys) {
    KeyTile tile;
    tile.keys = {begin, std::min(begin + tile_keys, problem.kv_len)};
    const auto positions =
        std::minmax_element(run_position_.begin() + tile.keys.begin,
                            run_position_.begin() + tile.keys.end);
    tile.run_position_min = *positions.first;
    tile.run_position_max = *positions.second;
    if (problem.segments) {
      tile.segment_min = tile.segment_max = seg(batch, begin);
      for (int64_t j = begin + 1; j < tile.keys.end; ++j) {
        tile.segment_min = std::min(tile.segment_min, seg(batch, j));
        tile.segment_max = std::max(tile.segment_max, seg(batch, j));
      }
    }
    tiles_.push_back(tile);
  }
}

TileClass MaskPlan::ClassifySegments(Range queries, const KeyTile& tile) const {
  if (!problem_->segments) return TileClass::kFull;
  const auto& seg = inputs_->q_seg;
  int32_t least = seg(batch_, queries.begin);
  int32_t most = least;
  for (int64_t i = queries.begin + 1; i < queries.end; ++i) {
    least = std::min(least, seg(batch_, i));
    most = std::max(most, seg(batch_, i));
  }
  const bool one = least == most && tile.segment_min == tile.segment_max;
  return FromBounds(one && least == tile.segment_min,
                    most < tile.segment_min || least > tile.segment_max);
}

// `positions` of the queries on the key axis.
TileClass MaskPlan::ClassifyTerm(const MaskExpr& mask, Range positions,
                                 const KeyTile& tile) const {
  const int64_t first = positions.begin, last = positions.end - 1;
  const int64_t key0 = tile.keys.begin, key1 = tile.keys.end - 1;
  const auto causal = FromBounds(first >= key1, last < key0);
  switch (mask.kind) {
    case MaskExpr::Kind::kFull:
      return TileClass::kFull;
    case MaskExpr::Kind::kCausal:
      return causal;
    case MaskExpr::Kind::kWindow: {
      const bool left = mask.left != kUnlimited;
      const bool right = mask.right != kUnlimited;
      return FromBounds((!left || last - key0 <= mask.left) &&
                            (!right || key1 - first <= mask.right),
                        (left && first - key1 > mask.left) ||
                            (right && key0 - last > mask.right));
    }
    case MaskExpr::Kind::kChunked: {
      const int64_t q0 = FloorDiv(first, mask.chunk);
      const int64_t q1 = FloorDiv(last, mask.chunk);
      const int64_t k0 = FloorDiv(key0, mask.chunk);
      const int64_t k1 = FloorDiv(key1, mask.chunk);
      return And(causal, FromBounds(q0 == q1 && k0 == k1 && q0 == k0,
                                    q1 < k0 || q0 > k1));
    }
    case MaskExpr::Kind::kPrefix: {
      const int64_t prefix =
          mask.prefix[mask.prefix.size() == 1 ? 0
                                              : static_cast<size_t>(batch_)];
      return Or(causal, FromBounds(key1 < prefix, key0 >= prefix));
    }
    case MaskExpr::Kind::kSink:
      return FromBounds(tile.run_position_max < mask.tokens,
                        tile.run_position_min >= mask.tokens);
    case MaskExpr::Kind::kDense:
      return TileClass::kPartial;
    case MaskExpr::Kind::kAnd: {
      TileClass result = TileClass::kFull;
      for (const MaskExpr& child : mask.children) {
        result = And(result, ClassifyTerm(child, positions, tile));
      }
      return result;
    }
    case MaskExpr::Kind::kOr: {
      TileClass result = TileClass::kEmpty;
      for (const MaskExpr& child : mask.children) {
        result = Or(result, ClassifyTerm(child, positions, tile));
      }
      return result;
    }
  }
  return TileClass::kPartial;
}

TileClass MaskPlan::Classify(int64_t head, Range queries,
                             int64_t tile_index) const {
  const KeyTile& tile = tiles_[static_cast<size_t>(tile_index)];
  const auto valid =
      And(FromBounds(queries.end <= valid_q_, queries.begin >= valid_q_),
          FromBounds(tile.keys.end <= valid_kv_, tile.keys.begin >= valid_kv_));
  if (valid == TileClass::kEmpty) return valid;
  const Range positions{queries.begin + offset_, queries.end + offset_};
  const auto mask = ClassifyTerm(problem_->mask(head), positions, tile);
  if (mask == TileClass::kEmpty) return mask;
  return And(And(valid, mask), ClassifySegments(queries, tile));
}

void MaskPlan::TermBits(const MaskExpr& mask, int64_t head, int64_t query,
                        int64_t begin, std::span<uint64_t> words) const {
  if (const std::optional<Range> keys =
          TermKeys(mask, batch_, query + offset_, problem_->kv_len)) {
    return SetBits(*keys, begin, words);
  }
  switch (mask.kind) {
    case MaskExpr::Kind::kSink:
      return SetWhere({0, problem_->kv_len}, begin, words, [&](int64_t j) {
        return run_position_[static_cast<size_t>(j)] < mask.tokens;
      });
    case MaskExpr::Kind::kDense: {
      const auto& dense = inputs_->dense_masks[mask.dense];
      const int64_t b = dense.shape[0] == 1 ? 0 : batch_;
      const int64_t h = dense.shape[1] == 1 ? 0 : head;
      return SetWhere({0, problem_->kv_len}, begin, words,
                      [&](int64_t j) { return dense(b, h, query, j) != 0; });
    }
    default:  // and, or
      break;
  }
  TermBits(mask.children[0], head, query, begin, words);
  std::vector<uint64_t> other(words.size());
  for (size_t c = 1; c < mask.children.size(); ++c) {
    std::fill(other.begin(), other.end(), 0);
    TermBits(mask.children[c], head, query, begin, other);
    for (size_t w = 0; w < words.size(); ++w) {
      words[w] = mask.kind == MaskExpr::Kind::kAnd ? words[w] & other[w]
                                                   : words[w] | other[w];
    }
  }
}

bool MaskPlan::RowBits(int64_t head, int64_t query, Range keys,
                       std::span<uint64_t> words) const {
  std::fill(words.begin(), words.end(), 0);
  if (query >= valid_q_) return false;
  TermBits(problem_->mask(head), head, query, keys.begin, words);
  const int64_t end = std::min(valid_kv_, keys.end);
  uint64_t any = 0;
  for (size_t w = 0; w < words.size(); ++w) {
    const int64_t first = keys.begin + static_cast<int64_t>(w) * 64;
    const int64_t count = std::clamp<int64_t>(end - first, 0, 64);
    if (count < 64) words[w] &= (uint64_t{1} << count) - 1;
    if (problem_->segments && words[w] != 0) {
      words[w] &= SegmentWord(query, {first, first + count});
    }
    any |= words[w];
  }
  return any != 0;
}

// Bit k: key keys.begin + k has the segment id of the query.
uint64_t MaskPlan::SegmentWord(int64_t query, Range keys) const {
  const int32_t id = inputs_->q_seg(batch_, query);
  uint64_t word = 0;
  for (int64_t k = 0; k < keys.end - keys.begin; ++k) {
    const bool equal = inputs_->kv_seg(batch_, keys.begin + k) == id;
    word |= static_cast<uint64_t>(equal) << k;
  }
  return word;
}

}  // namespace lockstep::optimized
