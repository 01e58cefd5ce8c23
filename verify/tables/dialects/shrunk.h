// Grid-shrinking tables, the dialect of optimized/worklist.h: per outer tile
// the active inner tiles, ascending, then zeros; the transposed tables are
// padded the same way.
#ifndef LOCKSTEP_VERIFY_TABLES_DIALECTS_SHRUNK_H_
#define LOCKSTEP_VERIFY_TABLES_DIALECTS_SHRUNK_H_

#include <cstdint>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"
#include "optimized/worklist.h"
#include "reference/contract/status.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

struct ShrunkTables {
  optimized::TileGrid grid;
  optimized::Boundary boundary = optimized::Boundary::kInRange;
  struct Pattern {
    optimized::Worklist forward;     // outer: query tiles
    optimized::Worklist transposed;  // outer: key tiles
  };
  std::vector<Pattern> patterns;  // all of one grid_width and width
  std::vector<int32_t> head_pattern;
  // Of both directions, [block][query][key]; no rows: masks are computed.
  optimized::BlockPool pool;
  int inner_bytes = 4;  // of the integers of data_next,
  int block_bytes = 4;  // and of mask_next
};

// `capacity` and `capacity_t` as for MakeWorklist. Errors: MakeWorklist's.
Result<ShrunkTables> ExportShrunk(const optimized::TilePlan& plan,
                                  int64_t capacity, int64_t capacity_t);

// A kernel visits every cell with a state other than 0, at its data_next, and
// writes every output tile after its last step. Errors: tables whose sizes do
// not agree, a head without pattern.
Result<PlanTrace> LiftShrunk(const ShrunkTables& tables);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_DIALECTS_SHRUNK_H_
