// Classes of selected key blocks from the documents of a packed row, block by
// block, for planners that have no time for every pair. Never full unless it is
// so; where ids come back, more blocks are partial than need be.
#ifndef LOCKSTEP_OPTIMIZED_DOCUMENT_BLOCKS_H_
#define LOCKSTEP_OPTIMIZED_DOCUMENT_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "optimized/tile_grid.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// Least and largest document id of every block of one row; made once, used by
// every head.
struct DocumentRanges {
  int64_t block = 1;  // tokens
  std::vector<int32_t> least, most;
};

// Errors: block < 1, or one that does not divide the row.
Result<DocumentRanges> RangesOf(std::span<const int32_t> doc_ids,
                                int64_t block);

// Further rules in addition to causal and "same document".
struct BlockRules {
  std::optional<int64_t> left;   // a window: keys behind the query
  std::optional<int64_t> valid;  // tokens before padding
};

// Class of key block `key_block` for the queries of block `query_block`. Exact
// for ids that do not decrease and no rules; otherwise "empty" and "full" are
// still true.
// Time O(1). Requires: both in range.
TileClass ClassifyBlock(const DocumentRanges& ranges, const BlockRules& rules,
                        int64_t query_block, int64_t key_block);

// The same for selections [query block][top_n]; indices out of range are
// dropped, which is kEmpty, not clamped. Errors: selections that are not
// `top_n` for every block.
Result<std::vector<TileClass>> ClassifySelected(
    const DocumentRanges& ranges, const BlockRules& rules,
    std::span<const int32_t> selected, int64_t top_n);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_DOCUMENT_BLOCKS_H_
