// How one worker of a kernel reads a tile plan: the key tiles that a few rows
// have to visit, and the element bits of the partial ones.
#ifndef LOCKSTEP_OPTIMIZED_MASK_READER_H_
#define LOCKSTEP_OPTIMIZED_MASK_READER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "optimized/row_keys.h"
#include "optimized/tile_grid.h"
#include "optimized/tile_plan.h"
#include "reference/contract/attention_forward.h"

namespace lockstep::optimized {

// Some queries of one query head.
struct HeadQueries {
  int64_t head = 0;
  Range queries;
};

// A key tile to visit: kFull only if every row sees every key of it.
struct KeyTileVisit {
  int64_t tile = 0;
  TileClass kind = TileClass::kPartial;
  friend bool operator==(const KeyTileVisit&, const KeyTileVisit&) = default;
};

// Where blocks are stored, bits are theirs and the mask of the problem is not
// read: the plan says all. Elsewhere they are computed from the mask.
class MaskReader {
 public:
  // Keeps references to all three; plans [batch].
  //   Requires: Validate(problem, inputs, ...).ok(), CheckSparsePlan.
  MaskReader(const AttentionForwardProblem& problem,
             const AttentionForwardInputs& inputs,
             std::span<const TilePlan> plans);

  // The rows at hand, part by part, none empty, and the key tiles of interest.
  // Time O(parts * log(parts) + active ones of these tiles in the query tiles
  // that the rows lie in).
  void Start(int64_t batch, std::span<const HeadQueries> rows,
             Range tiles = {0, std::numeric_limits<int64_t>::max()});

  // What they have to visit, ascending, each tile once.
  const std::vector<KeyTileVisit>& visits() const { return visits_; }

  // Bits of row `row` (counted through the parts) in a key tile: bit k % 64 of
  // word k / 64 for key k of the tile. Returns from where to where they are
  // set, 0 to 0 if none is.
  //   Requires: tiles ascend between two Starts; words hold the tile and are 0.
  Range TileBits(size_t row, int64_t tile, std::span<uint64_t> words);

  // The same for all keys of one query, of any head, of the batch row.
  void RowBits(int64_t head, int64_t query, std::span<uint64_t> words);

 private:
  struct Row {
    int64_t head = 0;
    int64_t query = 0;
    size_t next = 0;  // of its ranges, the first not left of the tile asked
    size_t end = 0;
  };

  const TilePlan& plan() const { return plans_[static_cast<size_t>(batch_)]; }
  void AppendVisits(const HeadQueries& part, Range tiles);
  void MergeVisits(size_t lists);
  void ReadRanges();
  Range StoredBits(int64_t head, int64_t query, int64_t tile,
                   std::span<uint64_t> words) const;

  const AttentionForwardProblem& problem_;
  const AttentionForwardInputs& inputs_;
  std::span<const TilePlan> plans_;
  int64_t batch_ = -1;
  std::unique_ptr<RowKeys> keys_;  // of the batch row; null: blocks are stored
  std::vector<KeyTileVisit> visits_;
  std::vector<Row> rows_;
  bool ranges_read_ = false;
  std::vector<Range> ranges_;  // visible keys of the rows, row by row
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_MASK_READER_H_
