// Splash-style mask tables. With one mask for all heads the grid is shrunk.
// Forward rows are padded behind with zeros, transposed columns in front, so
// that the last step is a real one. Shards of queries get one width: the last
// entry is repeated with state 0. Otherwise there is one table a head over the
// whole grid, and data_next names the next active tile in grid order. The
// static mask only: kernels compare segment ids on every tile themselves.
#ifndef LOCKSTEP_VERIFY_TABLES_DIALECTS_SPLASH_H_
#define LOCKSTEP_VERIFY_TABLES_DIALECTS_SPLASH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"
#include "reference/contract/status.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

// Shape [tables][rows][cols]. Forward: rows are query tiles, columns steps.
// Transposed: rows are the steps of each shard of queries, one shard after the
// other, columns are key tiles; query tiles count from the start of the shard.
struct SplashPass {
  int64_t tables = 1;  // 1, or one a head
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<int32_t> data_next;
  std::vector<int32_t> block_mask;
  std::vector<int32_t> mask_next;  // empty: masks are computed

  size_t At(int64_t table, int64_t row, int64_t col) const {
    return static_cast<size_t>((table * rows + row) * cols + col);
  }
};

struct SplashTables {
  optimized::TileGrid grid;
  int64_t heads = 1;
  int64_t q_shards = 1;
  bool shrunk = false;
  SplashPass forward;
  SplashPass transposed;
  optimized::BlockPool pool;    // [block][query][key]; no rows: computed
  optimized::BlockPool pool_t;  // [block][key][query]
};

// Without `shrink` the grid stays whole even for one mask, as the fused
// backward pass and masks known at run time only have it. Errors: lengths that
// the tiles or the shards do not divide, no active tile at all: the dialect
// cannot say it.
Result<SplashTables> ExportSplash(const optimized::TilePlan& plan,
                                  int64_t q_shards, bool shrink = true);

// A kernel visits every cell with a state other than 0, at its data_next, and
// writes every output tile. Errors: sizes that do not agree.
Result<PlanTrace> LiftSplash(const SplashTables& tables);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_DIALECTS_SPLASH_H_
