// From scores to selected key blocks, before there are tiles: the planner's
// first stages as pure functions. Ties go to the lower index everywhere, so
// that one input has one answer.
#ifndef LOCKSTEP_OPTIMIZED_SELECTION_H_
#define LOCKSTEP_OPTIMIZED_SELECTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::optimized {

// Indices of the `count` largest scores (all, if there are fewer), ascending.
// A NaN is below every number.
std::vector<int64_t> TopScores(std::span<const float> scores, int64_t count);

// Two levels. Each of the best `coarse_count` meta scores is opened into its
// `children` fine blocks (the last may have fewer). Of these, the best
// `fine_count` by fine score are taken. A good block under a bad meta score is
// lost: that is the method, not a fault.
//   Errors: meta_scores.size() != ceil(fine_scores.size() / children), counts
//   or children below 1.
Result<std::vector<int64_t>> ExpandHierarchy(std::span<const float> meta_scores,
                                             std::span<const float> fine_scores,
                                             int64_t children,
                                             int64_t coarse_count,
                                             int64_t fine_count);

// How many of the first blocks of `stride` keys a chunk of queries may score:
// those that begin no later than its last query. Requires: stride >= 1,
// chunk_len >= 1.
int64_t CausalBlocks(int64_t blocks, int64_t stride, int64_t chunk_begin,
                     int64_t chunk_len);

// What the queries of one tile selected, joined.
struct Union {
  std::vector<int32_t> blocks;  // ascending, each once
  // Per query and selection: place in `blocks`, or -1 where the selection was
  // out of range. A query that is no member does not see the block.
  std::vector<int32_t> places;
};

enum class UnionMode : uint8_t { kBitmap, kSort };

// Of selections [query][top_n], any order, repeats and indices out of
// [0, blocks) allowed; the latter are dropped. Both modes give one answer:
// kBitmap in O(selections + blocks), kSort in O(n log n) of the selections.
Union JoinSelections(std::span<const int32_t> selected, int64_t blocks,
                     UnionMode mode);

// Whether query `query` of the tile selected union block `place`. Requires:
// indices in range.
bool IsMember(const Union& joined, int64_t top_n, int64_t query, int32_t place);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_SELECTION_H_
