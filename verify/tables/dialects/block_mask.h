// BlockMask lists: per query tile the partial key tiles and, in a list of their
// own, the full ones; the same per key tile. Masks are computed on partial
// tiles; the mask counts as padded with invisible pairs, so that ragged tiles
// are never full.
#ifndef LOCKSTEP_VERIFY_TABLES_DIALECTS_BLOCK_MASK_H_
#define LOCKSTEP_VERIFY_TABLES_DIALECTS_BLOCK_MASK_H_

#include <cstdint>
#include <vector>

#include "optimized/tile_plan.h"
#include "reference/contract/status.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

// Shapes [heads][outer] and [heads][outer][columns]; the first `num` indices of
// an outer tile count, the rest is filler.
struct BlockLists {
  std::vector<int32_t> num;
  std::vector<int32_t> indices;
};

struct BlockMaskTables {
  optimized::TileGrid grid;
  int64_t heads = 1;
  int64_t tables = 1;  // 1, for all heads, or one a head
  // Columns of the indices; may be fewer than there are tiles.
  int64_t kv_columns = 0;
  int64_t q_columns = 0;
  BlockLists kv, full_kv;  // outer: query tiles
  BlockLists q, full_q;    // outer: key tiles
};

// Errors: a plan whose ragged tiles count by what is in range.
Result<BlockMaskTables> ExportBlockMask(const optimized::TilePlan& plan);

// A kernel walks the partial list of an output tile, then its full list.
// Errors: sizes that do not agree, a count above the columns.
Result<PlanTrace> LiftBlockMask(const BlockMaskTables& tables);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_DIALECTS_BLOCK_MASK_H_
