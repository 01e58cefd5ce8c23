// Masks for tiled kernels, integers only: which tiles are empty, full or
// partial, and the element bits of the partial ones. Written apart from
// reference/mask.cc, which says what a mask means.
#ifndef LOCKSTEP_OPTIMIZED_MASK_PLAN_H_
#define LOCKSTEP_OPTIMIZED_MASK_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "optimized/row_keys.h"
#include "optimized/tile_grid.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"

namespace lockstep::optimized {

// The masks of one batch row. kEmpty and kFull are proven; kPartial may
// still turn out empty or full when its bits are made.
class MaskPlan {
 public:
  MaskPlan() = default;
  // Time and memory O(kv_len). Keeps references to both arguments.
  //   Requires: Validate(problem, inputs, ...).ok(); tile_keys > 0.
  MaskPlan(const AttentionForwardProblem& problem,
           const AttentionForwardInputs& inputs, int64_t batch,
           int64_t tile_keys);

  // Class of queries x keys of key tile `tile` under the mask of `head`.
  // Keys beyond kv_len do not count.
  TileClass Classify(int64_t head, Range queries, int64_t tile) const;

  // Visibility of `keys` to one query: bit k % 64 of word k / 64 for key
  // keys.begin + k, 0 beyond keys.end. Returns whether any is visible.
  //   Requires: words hold at least keys.end - keys.begin bits.
  bool RowBits(int64_t head, int64_t query, Range keys,
               std::span<uint64_t> words) const;

 private:
  struct KeyTile {  // extremes over the keys of a tile
    Range keys;
    int32_t segment_min = 0;
    int32_t segment_max = 0;
    int64_t run_position_min = 0;
    int64_t run_position_max = 0;
  };

  TileClass ClassifyTerm(const MaskExpr& mask, Range positions,
                         const KeyTile& tile) const;
  TileClass ClassifySegments(Range queries, const KeyTile& tile) const;
  void TermBits(const MaskExpr& mask, int64_t head, int64_t query,
                int64_t begin, std::span<uint64_t> words) const;
  uint64_t SegmentWord(int64_t query, Range keys) const;

  const AttentionForwardProblem* problem_ = nullptr;
  const AttentionForwardInputs* inputs_ = nullptr;
  int64_t batch_ = 0;
  int64_t valid_q_ = 0;
  int64_t valid_kv_ = 0;
  int64_t offset_ = 0;
  std::vector<int64_t> run_position_;  // of each key in its run
  std::vector<KeyTile> tiles_;
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_MASK_PLAN_H_
