#include "optimized/mask_reader.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "optimized/row_keys.h"
#include "optimized/tile_plan.h"
#include "reference/contract/attention_forward.h"

namespace lockstep::optimized {
namespace {

// Copies `count` bits to bit `at` of words that are 0 there.
void CopyBits(std::span<const uint64_t> from, int64_t count, int64_t at,
              std::span<uint64_t> words) {
  for (int64_t bit = 0; bit < count; bit += 64) {
    uint64_t word = from[static_cast<size_t>(bit / 64)];
    if (count - bit < 64) word &= (uint64_t{1} << (count - bit)) - 1;
    const auto to = static_cast<size_t>((at + bit) / 64);
    const int64_t shift = (at + bit) % 64;
    words[to] |= word << shift;
    if (shift != 0 && word >> (64 - shift) != 0) {
      words[to + 1] |= word >> (64 - shift);
    }
  }
}

// From the first bit that is set to behind the last one.
Range Seen(std::span<const uint64_t> words) {
  const auto is_set = [](uint64_t word) { return word != 0; };
  const auto first = std::find_if(words.begin(), words.end(), is_set);
  if (first == words.end()) return {};
  const auto last = std::find_if(words.rbegin(), words.rend(), is_set);
  return {(first - words.begin()) * 64 + std::countr_zero(*first),
          (words.rend() - last) * 64 - std::countl_zero(*last)};
}

}  // namespace

MaskReader::MaskReader(const AttentionForwardProblem& problem,
                       const AttentionForwardInputs& inputs,
                       std::span<const TilePlan> plans)
    : problem_(problem), inputs_(inputs), plans_(plans) {}

void MaskReader::Start(int64_t batch, std::span<const HeadQueries> rows,
                       Range tiles) {
  if (batch != batch_) {
    batch_ = batch;
    keys_ = plan().options.blocks
                ? nullptr
                : std::make_unique<RowKeys>(problem_, inputs_, batch, true);
  }
  ranges_read_ = false;
  rows_.clear();
  visits_.clear();
  size_t lists = 0;
  for (const HeadQueries& part : rows) {
    for (int64_t i = part.queries.begin; i < part.queries.end; ++i) {
      rows_.push_back({part.head, i, 0, 0});
    }
    const int64_t tile_q = plan().grid.tile_q;
    lists += static_cast<size_t>((part.queries.end - 1) / tile_q -
                                 part.queries.begin / tile_q + 1);
    AppendVisits(part, tiles);
  }
  if (lists > 1) MergeVisits(lists);
}

// The active tiles of every query tile that the part touches.
void MaskReader::AppendVisits(const HeadQueries& part, Range tiles) {
  const TileList& list = plan().pattern(part.head).by_query;
  const int64_t tile_q = plan().grid.tile_q;
  const auto first = static_cast<size_t>(part.queries.begin / tile_q);
  const auto last = static_cast<size_t>((part.queries.end - 1) / tile_q);
  for (size_t row = first; row <= last; ++row) {
    const auto begin = list.inner.begin() + list.start[row];
    const auto end = list.inner.begin() + list.start[row + 1];
    for (auto at = std::lower_bound(begin, end, tiles.begin);
         at != end && *at < tiles.end; ++at) {
      visits_.push_back(
          {*at, list.classes[static_cast<size_t>(at - list.inner.begin())]});
    }
  }
}

// Joins the visits of several lists: a tile is full if it is so in each.
void MaskReader::MergeVisits(size_t lists) {
  std::sort(visits_.begin(), visits_.end(),
            [](const KeyTileVisit& a, const KeyTileVisit& b) {
              return a.tile < b.tile;
            });
  size_t kept = 0;
  for (size_t at = 0; at < visits_.size();) {
    size_t full = 0;
    const size_t begin = at;
    for (; at < visits_.size() && visits_[at].tile == visits_[begin].tile;
         ++at) {
      full += visits_[at].kind == TileClass::kFull;
    }
    visits_[kept++] = {visits_[begin].tile,
                       full == lists ? TileClass::kFull : TileClass::kPartial};
  }
  visits_.resize(kept);
}

void MaskReader::ReadRanges() {
  ranges_.clear();
  for (Row& row : rows_) {
    const std::span<const Range> keys = keys_->Visible(row.head, row.query);
    row.next = ranges_.size();
    ranges_.insert(ranges_.end(), keys.begin(), keys.end());
    row.end = ranges_.size();
  }
  ranges_read_ = true;
}

Range MaskReader::TileBits(size_t row_number, int64_t tile,
                           std::span<uint64_t> words) {
  Row& row = rows_[row_number];
  if (!keys_) return StoredBits(row.head, row.query, tile, words);
  if (!ranges_read_) ReadRanges();
  const int64_t begin = tile * plan().grid.tile_k;
  const int64_t end = begin + plan().grid.tile_k;
  while (row.next < row.end && ranges_[row.next].end <= begin) ++row.next;
  Range seen;
  for (size_t at = row.next; at < row.end && ranges_[at].begin < end; ++at) {
    const Range keys{std::max(ranges_[at].begin, begin) - begin,
                     std::min(ranges_[at].end, end) - begin};
    SetBits(keys, words);
    seen = seen.empty() ? keys : Range{seen.begin, keys.end};
  }
  return seen;
}

Range MaskReader::StoredBits(int64_t head, int64_t query, int64_t tile,
                             std::span<uint64_t> words) const {
  const TileList& list = plan().pattern(head).by_query;
  const TileGrid& grid = plan().grid;
  const auto outer = static_cast<size_t>(query / grid.tile_q);
  const auto begin = list.inner.begin() + list.start[outer];
  const auto end = list.inner.begin() + list.start[outer + 1];
  const auto found = std::lower_bound(begin, end, tile);
  if (found == end || *found != tile) return {};
  const auto at = static_cast<size_t>(found - list.inner.begin());
  const int64_t keys = std::min(grid.tile_k, grid.kv_len - tile * grid.tile_k);
  if (list.classes[at] == TileClass::kFull) {
    SetBits({0, keys}, words);
    return {0, keys};
  }
  const BlockPool& pool = plan().pool;
  const auto width = static_cast<size_t>(pool.words_per_row());
  const auto from =
      static_cast<size_t>(list.block[at] * pool.words_per_block() +
                          query % grid.tile_q * pool.words_per_row());
  const std::span<const uint64_t> row(&pool.words[from], width);
  CopyBits(row, keys, 0, words);
  return Seen(words);
}

void MaskReader::RowBits(int64_t head, int64_t query,
                         std::span<uint64_t> words) {
  std::fill(words.begin(), words.end(), 0);
  if (keys_) {
    for (const Range& keys : keys_->Visible(head, query)) {
      SetBits(keys, words);
    }
    return;
  }
  const TileGrid& grid = plan().grid;
  std::vector<uint64_t> bits(static_cast<size_t>((grid.tile_k + 63) / 64));
  for (int64_t tile = 0; tile < grid.cols(); ++tile) {
    std::fill(bits.begin(), bits.end(), 0);
    if (StoredBits(head, query, tile, bits).empty()) continue;
    const int64_t begin = tile * grid.tile_k;
    CopyBits(bits, std::min(grid.tile_k, grid.kv_len - begin), begin, words);
  }
}

}  // namespace lockstep::optimized
