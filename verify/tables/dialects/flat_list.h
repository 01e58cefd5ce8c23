// Flat lists of active tiles. The forward pass lists active tiles only: query
// tiles without any are never written. The transposed pass visits such key
// tiles once, with state 0. Shards are brought to one length with -1.
#ifndef LOCKSTEP_VERIFY_TABLES_DIALECTS_FLAT_LIST_H_
#define LOCKSTEP_VERIFY_TABLES_DIALECTS_FLAT_LIST_H_

#include <cstdint>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"
#include "reference/contract/status.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

// One list a shard, one shard after the other; tiles count from its start.
struct FlatPass {
  std::vector<int32_t> rows;  // output tiles: of queries, or, transposed, keys
  std::vector<int32_t> cols;
  std::vector<int32_t> block_mask;
  // Block of the next partial tile at or after the entry, going round; -1
  // where there is none; empty for computed masks and empty lists.
  std::vector<int32_t> mask_next;
  std::vector<int64_t> counts;  // visits of each shard
};

struct FlatTables {
  optimized::TileGrid grid;
  int64_t heads = 1;
  int64_t q_shards = 1;   // one of the two
  int64_t kv_shards = 1;  // is 1
  bool dense = false;     // every tile is full: there are no lists
  FlatPass forward;
  FlatPass transposed;
  optimized::BlockPool pool;    // [block][query][key]; no rows: computed
  optimized::BlockPool pool_t;  // [block][key][query]
};

// Errors: heads with different masks, lengths that the tiles or the shards do
// not divide, shards of both axes.
Result<FlatTables> ExportFlat(const optimized::TilePlan& plan, int64_t q_shards,
                              int64_t kv_shards);

// A kernel runs the entries of each shard's count; it starts an output tile
// where the row changes and writes it before the next change, or at the end.
// Errors: sizes that do not agree.
Result<PlanTrace> LiftFlat(const FlatTables& tables);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_DIALECTS_FLAT_LIST_H_
