// One row of tiles at a time: exact classes and element ranges from the
// visible keys of its queries.
#ifndef LOCKSTEP_OPTIMIZED_TILE_SCAN_H_
#define LOCKSTEP_OPTIMIZED_TILE_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/row_keys.h"
#include "optimized/tile_plan.h"
#include "reference/contract/attention_forward.h"

namespace lockstep::optimized {

class TileScan {
 public:
  // Requirements: those of ClassifyTiles. Keeps references to both.
  TileScan(const AttentionForwardProblem& problem,
           const AttentionForwardInputs& inputs, int64_t batch,
           const TileOptions& options);

  // Scans the queries of one row of tiles.
  void Read(int64_t head, int64_t tile_row);

  // Appends the active tiles of that row, block -1, and closes the row.
  void AppendTo(TileList* list);

  // Visible elements of one tile of that row, relative to it.
  //   Requires: columns ascend from call to call between two Reads.
  std::span<const BlockRange> Elements(int64_t col);

 private:
  struct Marks {  // differences between neighbouring tiles
    int32_t touched = 0;
    int32_t covered = 0;  // queries that see the whole tile
  };
  uint32_t TileOf(uint32_t key, uint32_t* last) const;
  void Mark(Range keys);

  TileGrid grid_;
  bool padded_;
  RowKeys keys_;
  std::vector<Marks> marks_;  // [cols + 1], zero between rows
  uint32_t first_ = 0;        // touched tiles lie in [first_, last_]
  uint32_t last_ = 0;
  uint32_t last_from_ = 0;         // where the range marked before began
  uint32_t last_to_ = 0;           // and ended
  int32_t queries_ = 0;            // of this row of tiles
  std::vector<Range> ranges_;      // of these queries, one after the other
  std::vector<size_t> ends_;       // of each query's ranges
  std::vector<size_t> cursors_;    // first range not left of the column asked
  std::vector<BlockRange> block_;  // last answer of Elements
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_TILE_SCAN_H_
