// What tables of any dialect make a kernel do, tile by tile, in the order of
// its grid. Importers of verify/tables/dialects write it, CheckPlan judges it.
// It can say everything broken tables say: nothing here is in range by nature.
#ifndef LOCKSTEP_VERIFY_TABLES_TRACE_H_
#define LOCKSTEP_VERIFY_TABLES_TRACE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_grid.h"
#include "optimized/tile_plan.h"

namespace lockstep::verify {

// The kernel works on a tile. "Outer" is the axis that outputs are written by:
// query tiles in the forward pass, key tiles in the transposed one.
struct TileVisit {
  int64_t outer = 0;
  int64_t inner = 0;
  int64_t state = 0;  // 0 initialise only, 1 with element mask, 2 without
  int64_t block = 0;  // of the pool, for state 1
  // Tile whose positions a computed mask is given; inner, unless the kernel
  // takes them from elsewhere.
  std::optional<int64_t> mask_inner;
};

// A cell of the tables that is no work. Kernels still fetch what it names.
struct PaddingCell {
  int64_t outer = 0;
  int64_t inner = 0;
  int64_t state = 0;
  int64_t block = 0;
};

struct TracedHead {
  int64_t table = 0;  // heads with one number read the same cells
  std::vector<TileVisit> visits;
  std::vector<PaddingCell> padding;
  std::vector<int64_t> stored;  // outer tiles whose output is written
};

// One direction, or one shard of it: the tiles [outer_begin, outer_end) x
// [inner_begin, inner_end). Coordinates are those of the whole grid.
struct TracedPass {
  int64_t outer_begin = 0;
  int64_t outer_end = 0;
  int64_t inner_begin = 0;
  int64_t inner_end = 0;
  std::vector<TracedHead> heads;      // every query head
  optimized::BlockPool pool;          // [block][outer element][inner element]
  bool ascending = true;              // inner tiles of an outer one ascend
  std::optional<int64_t> grid_width;  // steps an outer tile, as declared
  std::optional<int64_t> width;       // steps the tables have room for
  int inner_bytes = 4;                // of the integers that hold inner tiles,
  int outer_bytes = 4;                // outer tiles,
  int block_bytes = 4;                // and block ids
};

struct PlanTrace {
  optimized::TileGrid grid;
  optimized::Boundary boundary = optimized::Boundary::kInRange;
  // Partial tiles get their element masks from a function of the positions;
  // no blocks are stored.
  bool computed = false;
  // Tiles that may be visited without need.
  int64_t slack = 0;
  std::vector<TracedPass> forward;     // one per shard
  std::vector<TracedPass> transposed;  // none: not given
};

// A pass over the whole grid, with that many heads that do nothing yet.
TracedPass WholePass(const optimized::TileGrid& grid, bool transposed,
                     int64_t heads);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_TRACE_H_
