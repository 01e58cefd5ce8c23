#include "verify/tables/dialects/shrunk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "optimized/tile_plan.h"
#include "optimized/worklist.h"
#include "reference/contract/status.h"
#include "verify/base/status_macros.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {
namespace {

using optimized::MakeWorklist;
using optimized::NarrowestBytes;
using optimized::TilePattern;
using optimized::Worklist;

// Grids are shared by all heads: as wide as the widest pattern.
int64_t Width(const optimized::TilePlan& plan,
              optimized::TileList TilePattern::* side) {
  int64_t width = 1;
  for (const TilePattern& pattern : plan.patterns) {
    width = std::max(width, (pattern.*side).MaxActive());
  }
  return width;
}

Status CheckShrunkSizes(const Worklist& work, int64_t outer) {
  const auto cells = static_cast<size_t>(outer * work.width);
  if (work.outer == outer && work.data_next.size() == cells &&
      work.block_mask.size() == cells && work.mask_next.size() == cells) {
    return Status();
  }
  return Status::Error("shrunk tables: want " + std::to_string(outer) + " x " +
                       std::to_string(work.width) + " cells in data_next, " +
                       "block_mask and mask_next");
}

void TraceHead(const Worklist& work, TracedHead* head) {
  for (int64_t o = 0; o < work.outer; ++o) {
    for (int64_t step = 0; step < work.width; ++step) {
      const size_t at = work.At(o, step);
      const int32_t state = work.block_mask[at];
      if (state != 0 && step < work.grid_width) {
        head->visits.push_back(
            {o, work.data_next[at], state, work.mask_next[at], {}});
      } else {
        head->padding.push_back(
            {o, work.data_next[at], state, work.mask_next[at]});
      }
    }
    head->stored.push_back(o);
  }
}

}  // namespace

Result<ShrunkTables> ExportShrunk(const optimized::TilePlan& plan,
                                  int64_t capacity, int64_t capacity_t) {
  ShrunkTables tables;
  tables.grid = plan.grid;
  tables.boundary = plan.options.boundary;
  tables.head_pattern = plan.head_pattern;
  if (plan.options.blocks) tables.pool = plan.pool;
  const int64_t width = Width(plan, &TilePattern::by_query);
  const int64_t width_t = Width(plan, &TilePattern::by_key);
  tables.inner_bytes = tables.block_bytes = 1;
  for (const TilePattern& pattern : plan.patterns) {
    ASSIGN_OR_RETURN(
        Worklist forward,
        MakeWorklist(pattern.by_query, capacity == 0 ? width : capacity));
    ASSIGN_OR_RETURN(
        Worklist transposed,
        MakeWorklist(pattern.by_key, capacity_t == 0 ? width_t : capacity_t));
    forward.grid_width = width;
    transposed.grid_width = width_t;
    for (const Worklist* work : {&forward, &transposed}) {
      tables.inner_bytes =
          std::max(tables.inner_bytes, NarrowestBytes(work->data_next));
      tables.block_bytes =
          std::max(tables.block_bytes, NarrowestBytes(work->mask_next));
    }
    tables.patterns.push_back({std::move(forward), std::move(transposed)});
  }
  return tables;
}

Result<PlanTrace> LiftShrunk(const ShrunkTables& tables) {
  PlanTrace trace;
  trace.grid = tables.grid;
  trace.boundary = tables.boundary;
  trace.computed = tables.pool.rows == 0;
  const auto heads = static_cast<int64_t>(tables.head_pattern.size());
  TracedPass forward = WholePass(tables.grid, false, heads);
  TracedPass transposed = WholePass(tables.grid, true, heads);
  forward.pool = tables.pool;
  if (!trace.computed) transposed.pool = Transpose(tables.pool);
  for (size_t h = 0; h < tables.head_pattern.size(); ++h) {
    const auto id = static_cast<size_t>(tables.head_pattern[h]);
    if (id >= tables.patterns.size()) {
      return Status::Error("shrunk tables: head " + std::to_string(h) +
                           " reads table " +
                           std::to_string(tables.head_pattern[h]) + " of " +
                           std::to_string(tables.patterns.size()));
    }
    for (const bool turned : {false, true}) {
      TracedPass& pass = turned ? transposed : forward;
      const ShrunkTables::Pattern& pattern = tables.patterns[id];
      const Worklist& work = turned ? pattern.transposed : pattern.forward;
      RETURN_IF_ERROR(CheckShrunkSizes(work, pass.outer_end));
      pass.inner_bytes = tables.inner_bytes;
      pass.block_bytes = tables.block_bytes;
      pass.grid_width = work.grid_width;
      pass.width = work.width;
      pass.heads[h].table = tables.head_pattern[h];
      TraceHead(work, &pass.heads[h]);
    }
  }
  trace.forward.push_back(std::move(forward));
  trace.transposed.push_back(std::move(transposed));
  return trace;
}

}  // namespace lockstep::verify
