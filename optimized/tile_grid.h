// Queries x keys cut into tiles, and the three kinds a tile is of.
#ifndef LOCKSTEP_OPTIMIZED_TILE_GRID_H_
#define LOCKSTEP_OPTIMIZED_TILE_GRID_H_

#include <cstdint>

namespace lockstep::optimized {

enum class TileClass : uint8_t { kEmpty, kPartial, kFull };

// The last tile of a row or column may be ragged: it counts, too.
struct TileGrid {
  int64_t q_len = 1;
  int64_t kv_len = 1;
  int64_t tile_q = 1;
  int64_t tile_k = 1;

  int64_t rows() const { return (q_len + tile_q - 1) / tile_q; }
  int64_t cols() const { return (kv_len + tile_k - 1) / tile_k; }
  int64_t tiles() const { return rows() * cols(); }
  friend bool operator==(const TileGrid&, const TileGrid&) = default;
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_TILE_GRID_H_
