// The element masks of partial tiles, each content stored once.
#ifndef LOCKSTEP_OPTIMIZED_BLOCK_POOL_H_
#define LOCKSTEP_OPTIMIZED_BLOCK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "optimized/row_keys.h"

namespace lockstep::optimized {

// Blocks of rows x cols bits; rows are padded to whole words with zeros.
struct BlockPool {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<uint64_t> words;  // [block][row][word of the row]

  int64_t words_per_row() const { return (cols + 63) / 64; }
  int64_t words_per_block() const { return rows * words_per_row(); }
  int64_t size() const {
    return words.empty()
               ? 0
               : static_cast<int64_t>(words.size()) / words_per_block();
  }
  // One byte an element, as kernels store them.
  int64_t bytes() const { return size() * rows * cols; }
  bool At(int64_t block, int64_t row, int64_t col) const {
    const int64_t word =
        block * words_per_block() + row * words_per_row() + col / 64;
    return (words[static_cast<size_t>(word)] >> (col % 64)) & 1;
  }
  void Set(int64_t block, int64_t row, int64_t col, bool bit);
  // Appends a block of zeros; returns its id.
  int64_t Append();

  friend bool operator==(const BlockPool&, const BlockPool&) = default;
};

// Every block with rows and columns swapped, under the same ids.
BlockPool Transpose(const BlockPool& pool);

// Visible elements of one row of a tile.
struct BlockRange {
  int32_t row = 0;
  int32_t begin = 0;  // columns, half open
  int32_t end = 0;
};

// Fills a pool. Two blocks get one id exactly if they are equal in every
// element: contents are compared, hashes only find candidates.
class BlockPoolBuilder {
 public:
  // Requires: rows * cols < 2^32.
  // With some bits of the hash masked, more contents collide; ids stay the
  // same.
  BlockPoolBuilder(int64_t rows, int64_t cols,
                   uint64_t hash_mask = ~uint64_t{0});

  // The id of the block whose ones are `ranges`: ascending, disjoint, none
  // touching the next of its row.
  int32_t Add(std::span<const BlockRange> ranges);

  BlockPool Take() { return std::move(pool_); }

 private:
  // Writes the row of a range into the words of a block.
  void SetRange(const BlockRange& range, std::span<uint64_t> block) const;
  // A block in the shorter of its two spellings, ranges or bits.
  void Spell(std::span<const BlockRange> ranges);

  BlockPool pool_;
  uint64_t hash_mask_;
  std::vector<uint64_t> spelling_;  // of the block at hand
  std::vector<uint64_t> spellings_;
  std::vector<size_t> ends_;  // of each block's spelling
  std::unordered_multimap<uint64_t, int32_t> by_hash_;
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_BLOCK_POOL_H_
