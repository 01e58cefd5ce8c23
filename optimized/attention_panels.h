// Where the packed panels of attention_forward lie. All key tiles of a few kv
// heads are packed ahead, and the row tiles share them. With narrow masks, each
// worker packs the tiles that its rows need. It keeps the last few, which stay
// in its L2 cache.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_PANELS_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_PANELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/attention_work.h"

namespace lockstep::optimized {

// Packed panels of a few kv heads at a time, reused from round to round.
class PackedHeads {
 public:
  PackedHeads(const AttentionJob& job, int64_t heads);

  PackedHead& operator[](int64_t head) {
    return heads_[static_cast<size_t>(head)];
  }

 private:
  PanelMemory elements_, pairs_;
  std::vector<PackedHead> heads_;
};

// Whether any query head of the kv head visits the key tile.
bool IsVisited(const AttentionJob& job, int64_t batch, int64_t kv_head,
               int64_t key_tile);

// The row tiles of a kv head by their queries, so that all heads of a group
// come to a key tile one after another.
std::vector<int64_t> RowTilesByQuery(const AttentionJob& job);

// Row tiles that a worker takes at a time, of those in that order: all of a
// head for one worker, otherwise enough pieces to keep the workers even.
int64_t RowTilesOfAPiece(const AttentionJob& job);

// Whether the workers keep plan.kept_tiles tiles instead of packing ahead. The
// price is tiles that are packed again: where a piece begins, and where rows
// come back to a tile that made room for another. Up to a quarter more tiles
// for any head are worth it. Time O(active tiles), less where it is not.
bool KeepsTiles(const AttentionJob& job);

// Room for `count` tiles that the worker packs itself.
void MakeRoom(const AttentionJob& job, int64_t count, Worker& worker);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_PANELS_H_
