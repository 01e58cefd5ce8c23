#include "optimized/block_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::optimized {
namespace {

uint64_t Fold(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

// Multiply and fold, in four chains that do not wait for each other; equal
// contents are compared anyway.
uint64_t Hash(std::span<const uint64_t> words) {
  uint64_t chains[4] = {words.size(), 1, 2, 3};
  size_t n = 0;
  for (; n + 4 <= words.size(); n += 4) {
    for (size_t c = 0; c < 4; ++c) chains[c] = Fold(chains[c], words[n + c]);
  }
  for (; n < words.size(); ++n) chains[0] = Fold(chains[0], words[n]);
  return Fold(Fold(chains[0], chains[1]), Fold(chains[2], chains[3]));
}

}  // namespace

void BlockPool::Set(int64_t block, int64_t row, int64_t col, bool bit) {
  const int64_t word =
      block * words_per_block() + row * words_per_row() + col / 64;
  uint64_t& bits = words[static_cast<size_t>(word)];
  const uint64_t one = uint64_t{1} << (col % 64);
  bits = bit ? bits | one : bits & ~one;
}

int64_t BlockPool::Append() {
  words.resize(words.size() + static_cast<size_t>(words_per_block()));
  return size() - 1;
}

BlockPool Transpose(const BlockPool& pool) {
  BlockPool result{pool.cols, pool.rows, {}};
  for (int64_t block = 0; block < pool.size(); ++block) {
    result.Append();
    for (int64_t row = 0; row < pool.rows; ++row) {
      for (int64_t col = 0; col < pool.cols; ++col) {
        if (pool.At(block, row, col)) result.Set(block, col, row, true);
      }
    }
  }
  return result;
}

BlockPoolBuilder::BlockPoolBuilder(int64_t rows, int64_t cols,
                                   uint64_t hash_mask)
    : pool_{rows, cols, {}}, hash_mask_(hash_mask) {}

void BlockPoolBuilder::SetRange(const BlockRange& range,
                                std::span<uint64_t> block) const {
  const auto words = static_cast<size_t>(pool_.words_per_row());
  SetBits({range.begin, range.end},
          block.subspan(static_cast<size_t>(range.row) * words, words));
}

// A range is spelled by the numbers of its first element and of the one behind
// its last, counted through the block: 32 bits each.
void BlockPoolBuilder::Spell(std::span<const BlockRange> ranges) {
  const auto words = static_cast<size_t>(pool_.words_per_block());
  const bool as_ranges = ranges.size() < words;
  spelling_.assign(1 + (as_ranges ? ranges.size() : words), 0);
  spelling_[0] = as_ranges;
  const std::span<uint64_t> spelled = std::span(spelling_).subspan(1);
  for (size_t n = 0; n < ranges.size(); ++n) {
    const BlockRange& range = ranges[n];
    const int64_t row = range.row * pool_.cols;
    if (as_ranges) {
      spelled[n] = static_cast<uint64_t>(row + range.begin) << 32 |
                   static_cast<uint64_t>(row + range.end);
    } else {
      SetRange(range, spelled);
    }
  }
}

int32_t BlockPoolBuilder::Add(std::span<const BlockRange> ranges) {
  Spell(ranges);
  const uint64_t hash = Hash(spelling_) & hash_mask_;
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const auto id = static_cast<size_t>(it->second);
    const size_t begin = id == 0 ? 0 : ends_[id - 1];
    if (std::equal(
            spelling_.begin(), spelling_.end(),
            spellings_.begin() + static_cast<std::ptrdiff_t>(begin),
            spellings_.begin() + static_cast<std::ptrdiff_t>(ends_[id]))) {
      return it->second;
    }
  }
  const auto id = static_cast<int32_t>(pool_.Append());
  const auto words = static_cast<size_t>(pool_.words_per_block());
  for (const BlockRange& range : ranges) {
    SetRange(range, std::span(pool_.words).last(words));
  }
  spellings_.insert(spellings_.end(), spelling_.begin(), spelling_.end());
  ends_.push_back(spellings_.size());
  by_hash_.emplace(hash, id);
  return id;
}

}  // namespace lockstep::optimized
