// Which tiles of queries x keys a masked kernel has to visit, how, and with
// which element masks: exact, as values. Nothing is sampled: a tile is full or
// empty exactly if every element says so.
//
// Words (docs/glossary.md): an *active* tile is partial or full; a *pattern*
// is the tile map of all heads with one mask; a *block* is the element mask of
// a partial tile.
#ifndef LOCKSTEP_OPTIMIZED_TILE_PLAN_H_
#define LOCKSTEP_OPTIMIZED_TILE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_grid.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// What a ragged tile is judged by.
enum class Boundary : uint8_t {
  kInRange,  // by the elements in range; a full one needs a length mask
  kPadded,   // as if padded with invisible elements: never full
};

// Active tiles, compressed by one axis of the grid ("outer").
struct TileList {
  std::vector<int64_t> start = {0};  // [outer extent + 1]
  // Per active tile:
  std::vector<int32_t> inner;      // strictly ascending within one outer
  std::vector<TileClass> classes;  // kPartial or kFull
  std::vector<int32_t> block;      // in the pool; -1 for full tiles, and
                                   // for all where blocks are not stored

  int64_t outer() const { return static_cast<int64_t>(start.size()) - 1; }
  int64_t active() const { return static_cast<int64_t>(inner.size()); }
  int64_t Count(TileClass c) const;
  int64_t ActiveOf(int64_t o) const {
    return start[static_cast<size_t>(o) + 1] - start[static_cast<size_t>(o)];
  }
  // Most active tiles of one outer: what a grid has to be wide for.
  int64_t MaxActive() const;
  friend bool operator==(const TileList&, const TileList&) = default;
};

// The same tiles compressed by the other axis, which has `inner_extent`
// tiles. Time and memory O(active + inner_extent).
TileList Transpose(const TileList& list, int64_t inner_extent);

struct TilePattern {
  TileList by_query;  // outer: query tiles
  TileList by_key;    // the exact transpose; same block ids
  friend bool operator==(const TilePattern&, const TilePattern&) = default;
};

struct TileOptions {
  int64_t tile_q = 256;
  int64_t tile_k = 256;
  Boundary boundary = Boundary::kInRange;
  // Whether classes and blocks account for segment ids. If not, the kernel
  // has to compare ids on every active tile.
  bool segments = true;
  bool blocks = true;  // store the element masks of partial tiles
};

// The plan of one batch row.
struct TilePlan {
  TileGrid grid;
  TileOptions options;
  std::vector<int32_t> head_pattern;  // of each query head
  // All different; without blocks two may have the same tiles.
  std::vector<TilePattern> patterns;
  BlockPool pool;  // of all patterns; tile_q x tile_k

  const TilePattern& pattern(int64_t head) const {
    return patterns[static_cast<size_t>(
        head_pattern[static_cast<size_t>(head)])];
  }
};

// Tiles of one head, without blocks. Time O(queries * ranges of a query +
// tiles between the first and the last active one of each query tile), see
// RowKeys; memory O(active tiles + runs).
//   Requires: Validate(problem, inputs, ...).ok(), the grid is the problem's,
//   options that CheckTileOptions accepts.
TileList ClassifyTiles(const AttentionForwardProblem& problem,
                       const AttentionForwardInputs& inputs, int64_t batch,
                       int64_t head, const TileOptions& options);

// Largest tile whose element masks can be stored: 8 MiB of bits.
inline constexpr int64_t kMaxBlockElements = int64_t{1} << 26;

// Errors: a tile extent out of 1..kMaxLength, a tile too large for `blocks`;
// options without segments for a mask whose sink term counts from the start of
// a segment.
Status CheckTileOptions(const AttentionForwardProblem& problem,
                        const TileOptions& options);

// Errors: CheckTileOptions. Time: ClassifyTiles per different mask, and with
// blocks the elements' ranges of the partial tiles.
//   Errors: also Validate(problem)'s, and a batch row that there is not.
//   Requires: segments, counts and dense masks as Validate() wants them; q, k
//   and v are not looked at.
Result<TilePlan> PlanTiles(const AttentionForwardProblem& problem,
                           const AttentionForwardInputs& inputs, int64_t batch,
                           const TileOptions& options);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_TILE_PLAN_H_
