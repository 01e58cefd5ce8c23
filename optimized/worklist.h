// A tile plan as the tables that kernels read: worklists with a shrunk grid,
// block coordinates, narrow integers. Pure functions of a TileList.
#ifndef LOCKSTEP_OPTIMIZED_WORKLIST_H_
#define LOCKSTEP_OPTIMIZED_WORKLIST_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/tile_plan.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// One direction: what to do at step s of outer tile o. Shape [outer][width],
// row-major; the active tiles come first, ascending, then padding: zeros, which
// every index map may dereference.
struct Worklist {
  int64_t outer = 0;
  int64_t grid_width =
      1;              // steps needed: max(1, most active tiles of an outer)
  int64_t width = 1;  // steps the tables have room for, >= grid_width
  std::vector<int32_t> data_next;   // inner tile to fetch
  std::vector<int32_t> block_mask;  // 0 nothing to do, 1 partial, 2 full
  std::vector<int32_t> mask_next;   // block of a partial tile, else 0

  size_t At(int64_t o, int64_t step) const {
    return static_cast<size_t>(o * width + step);
  }
};

// `capacity` steps an outer tile (0: as many as needed), so that tables of one
// shape serve every payload that fits. Errors: capacity below what is needed.
Result<Worklist> MakeWorklist(const TileList& list, int64_t capacity);

// Signed integers of 1, 2 or 4 bytes, little-endian.
struct NarrowTable {
  int bytes = 4;
  std::vector<uint8_t> data;
};

// The fewest bytes that hold every value: 1, 2 or 4.
int NarrowestBytes(std::span<const int32_t> values);

// In the fewest bytes; Widen is its inverse.
NarrowTable Narrow(std::span<const int32_t> values);
std::vector<int32_t> Widen(const NarrowTable& table);

// Bytes of the coordinates, outer and inner, of `active` tiles.
inline constexpr int64_t CooBytes(int64_t active, int64_t index_bytes) {
  return 2 * index_bytes * active;
}

// What they are expected to take if `percent` of the tiles are active, rounded
// to the nearest byte.
inline constexpr int64_t CooBytesAtDensity(int64_t tiles, int64_t percent,
                                           int64_t index_bytes) {
  return (2 * index_bytes * tiles * percent + 50) / 100;
}

// Bytes of all that a kernel gets besides q, k, v and ids. These are the
// narrowed tables of both directions of every pattern, and one byte for each
// element of the blocks.
int64_t MetadataBytes(const TilePlan& plan);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_WORKLIST_H_
