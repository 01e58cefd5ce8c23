#include <cstddef>
#include <cstdint>
#include <string>

#include "optimized/worklist.h"
#include "reference/contract/status.h"
#include "verify/base/status_macros.h"
#include "verify/tables/dialects/splash.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {
namespace {

Status CheckSizes(const SplashTables& tables, const SplashPass& pass,
                  int64_t rows, int64_t cols) {
  const auto cells = static_cast<size_t>(pass.tables * pass.rows * pass.cols);
  const bool computed = tables.pool.rows == 0;
  if ((pass.tables == 1 || pass.tables == tables.heads) && pass.rows == rows &&
      pass.cols == cols && pass.data_next.size() == cells &&
      pass.block_mask.size() == cells &&
      pass.mask_next.size() == (computed ? 0 : cells)) {
    return Status();
  }
  return Status::Error("splash tables: want 1 or " +
                       std::to_string(tables.heads) + " tables of " +
                       std::to_string(rows) + " x " + std::to_string(cols) +
                       " cells");
}

// One cell, read by the step that writes output tile `outer`.
void Read(const SplashPass& pass, size_t cell, int64_t outer,
          int64_t inner_begin, TracedHead* head) {
  const int32_t state = pass.block_mask[cell];
  const int64_t inner = inner_begin + pass.data_next[cell];
  const int64_t block = pass.mask_next.empty() ? 0 : pass.mask_next[cell];
  if (state != 0) {
    head->visits.push_back({outer, inner, state, block, {}});
  } else {
    head->padding.push_back({outer, inner, state, block});
  }
}

TracedPass Shard(const SplashTables& tables, int64_t shard, bool transposed) {
  const SplashPass& source = transposed ? tables.transposed : tables.forward;
  TracedPass pass = WholePass(tables.grid, transposed, tables.heads);
  const int64_t rows = tables.grid.rows() / tables.q_shards;
  (transposed ? pass.inner_begin : pass.outer_begin) = shard * rows;
  (transposed ? pass.inner_end : pass.outer_end) = (shard + 1) * rows;
  pass.pool = transposed ? tables.pool_t : tables.pool;
  const int64_t steps =
      transposed ? source.rows / tables.q_shards : source.cols;
  pass.width = steps;
  // Shards share the width of the widest.
  if (tables.shrunk && tables.q_shards == 1) pass.grid_width = steps;
  pass.inner_bytes = optimized::NarrowestBytes(source.data_next);
  pass.block_bytes = optimized::NarrowestBytes(source.mask_next);
  for (int64_t h = 0; h < tables.heads; ++h) {
    TracedHead& head = pass.heads[static_cast<size_t>(h)];
    head.table = source.tables == 1 ? 0 : h;
    for (int64_t o = pass.outer_begin; o < pass.outer_end; ++o) {
      for (int64_t step = 0; step < steps; ++step) {
        const size_t cell = transposed
                                ? source.At(head.table, shard * steps + step, o)
                                : source.At(head.table, o, step);
        Read(source, cell, o, pass.inner_begin, &head);
      }
      head.stored.push_back(o);
    }
  }
  return pass;
}

}  // namespace

Result<PlanTrace> LiftSplash(const SplashTables& tables) {
  const optimized::TileGrid& g = tables.grid;
  if (tables.q_shards < 1 || g.rows() % tables.q_shards != 0 ||
      tables.transposed.rows % tables.q_shards != 0) {
    return Status::Error("splash tables: " + std::to_string(tables.q_shards) +
                         " shards do not divide the query tiles");
  }
  RETURN_IF_ERROR(CheckSizes(tables, tables.forward, g.rows(),
                             tables.shrunk ? tables.forward.cols : g.cols()));
  RETURN_IF_ERROR(CheckSizes(tables, tables.transposed,
                             tables.shrunk ? tables.transposed.rows : g.rows(),
                             g.cols()));
  PlanTrace trace;
  trace.grid = tables.grid;
  trace.computed = tables.pool.rows == 0;
  for (int64_t s = 0; s < tables.q_shards; ++s) {
    trace.forward.push_back(Shard(tables, s, false));
    trace.transposed.push_back(Shard(tables, s, true));
  }
  return trace;
}

}  // namespace lockstep::verify
