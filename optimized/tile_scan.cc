#include "optimized/tile_scan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/row_keys.h"
#include "optimized/tile_plan.h"
#include "reference/contract/attention_forward.h"

namespace lockstep::optimized {

TileScan::TileScan(const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& inputs, int64_t batch,
                   const TileOptions& options)
    : grid_{problem.q_len, problem.kv_len, options.tile_q, options.tile_k},
      padded_(options.boundary == Boundary::kPadded),
      keys_(problem, inputs, batch, options.segments),
      marks_(static_cast<size_t>(grid_.cols()) + 1) {}

// The tile of a key. Keys fit 32 bits (kMaxLength), where division is several
// times cheaper than on 64; neighbouring queries mostly need none.
uint32_t TileScan::TileOf(uint32_t key, uint32_t* last) const {
  const auto tile = static_cast<uint32_t>(grid_.tile_k);
  if (key - *last * tile >= tile) *last = key / tile;
  return *last;
}

void TileScan::Mark(Range keys) {
  const auto tile = static_cast<uint32_t>(grid_.tile_k);
  const auto begin = static_cast<uint32_t>(keys.begin);
  const auto end = static_cast<uint32_t>(keys.end);
  const uint32_t from = TileOf(begin, &last_from_);
  const uint32_t to = TileOf(end - 1, &last_to_);
  ++marks_[from].touched;
  --marks_[to + 1].touched;
  first_ = std::min(first_, from);
  last_ = std::max(last_, to);
  const uint32_t inside = from * tile == begin ? from : from + 1;
  const bool ends_tile = (to + 1) * uint64_t{tile} == end ||
                         (!padded_ && keys.end == grid_.kv_len);
  const uint32_t outside = ends_tile ? to + 1 : to;
  if (inside < outside) {
    ++marks_[inside].covered;
    --marks_[outside].covered;
  }
}

void TileScan::Read(int64_t head, int64_t tile_row) {
  const int64_t begin = tile_row * grid_.tile_q;
  const int64_t end = std::min(begin + grid_.tile_q, grid_.q_len);
  queries_ = static_cast<int32_t>(end - begin);
  first_ = static_cast<uint32_t>(grid_.cols());
  last_ = 0;
  ranges_.clear();
  ends_.clear();
  cursors_.clear();
  for (int64_t query = begin; query < end; ++query) {
    cursors_.push_back(ranges_.size());
    for (const Range& keys : keys_.Visible(head, query)) {
      Mark(keys);
      ranges_.push_back(keys);
    }
    ends_.push_back(ranges_.size());
  }
}

void TileScan::AppendTo(TileList* list) {
  const bool ragged = queries_ < grid_.tile_q;
  Marks sum;
  for (uint32_t col = first_; col <= last_; ++col) {
    Marks& mark = marks_[col];
    sum.touched += mark.touched;
    sum.covered += mark.covered;
    mark = {};
    if (sum.touched == 0) continue;
    const bool full = sum.covered == queries_ && !(padded_ && ragged);
    list->inner.push_back(static_cast<int32_t>(col));
    list->classes.push_back(full ? TileClass::kFull : TileClass::kPartial);
    list->block.push_back(-1);
  }
  if (first_ <= last_) marks_[last_ + 1] = {};
  list->start.push_back(list->active());
}

std::span<const BlockRange> TileScan::Elements(int64_t col) {
  const Range tile{col * grid_.tile_k,
                   std::min((col + 1) * grid_.tile_k, grid_.kv_len)};
  block_.clear();
  for (int32_t row = 0; row < queries_; ++row) {
    const size_t end = ends_[static_cast<size_t>(row)];
    size_t& at = cursors_[static_cast<size_t>(row)];
    while (at < end && ranges_[at].end <= tile.begin) ++at;
    for (size_t r = at; r < end && ranges_[r].begin < tile.end; ++r) {
      const int64_t from = std::max(ranges_[r].begin, tile.begin) - tile.begin;
      const int64_t to = std::min(ranges_[r].end, tile.end) - tile.begin;
      block_.push_back(
          {row, static_cast<int32_t>(from), static_cast<int32_t>(to)});
    }
  }
  return block_;
}

}  // namespace lockstep::optimized
