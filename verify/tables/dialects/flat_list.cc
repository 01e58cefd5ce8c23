#include "verify/tables/dialects/flat_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/tile_plan.h"
#include "optimized/worklist.h"
#include "reference/contract/status.h"
#include "verify/base/status_macros.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {
namespace {

using optimized::TileClass;
using optimized::TileGrid;
using optimized::TileList;

// Tiles [begin, end) of each axis, as the pass sees them.
struct Part {
  int64_t outer_begin, outer_end, inner_begin, inner_end;
};

int64_t Shards(const FlatTables& t) { return t.q_shards * t.kv_shards; }

Part PartOf(const FlatTables& t, int64_t shard, bool transposed) {
  const int64_t rows = t.grid.rows() / t.q_shards;
  const int64_t cols = t.grid.cols() / t.kv_shards;
  const int64_t row = t.q_shards > 1 ? shard * rows : 0;
  const int64_t col = t.kv_shards > 1 ? shard * cols : 0;
  return transposed ? Part{col, col + cols, row, row + rows}
                    : Part{row, row + rows, col, col + cols};
}

void Append(FlatPass* pass, int64_t row, int64_t col, int32_t state,
            int32_t block) {
  pass->rows.push_back(static_cast<int32_t>(row));
  pass->cols.push_back(static_cast<int32_t>(col));
  pass->block_mask.push_back(state);
  pass->mask_next.push_back(block);
}

// From each entry's own block (-1: none) to that of the next partial tile.
void LookAhead(std::vector<int32_t>* blocks) {
  const auto first = std::find_if(blocks->begin(), blocks->end(),
                                  [](int32_t block) { return block >= 0; });
  int32_t next = first == blocks->end() ? -1 : *first;
  for (size_t n = blocks->size(); n-- > 0;) {
    if ((*blocks)[n] >= 0) next = (*blocks)[n];
    (*blocks)[n] = next;
  }
}

FlatPass OneShard(const TileList& list, const Part& part, bool dummies) {
  FlatPass pass;
  for (int64_t o = part.outer_begin; o < part.outer_end; ++o) {
    const size_t before = pass.rows.size();
    const int64_t row = o - part.outer_begin;
    for (int64_t n = list.start[static_cast<size_t>(o)];
         n < list.start[static_cast<size_t>(o) + 1]; ++n) {
      const auto at = static_cast<size_t>(n);
      if (list.inner[at] < part.inner_begin || list.inner[at] >= part.inner_end)
        continue;
      Append(&pass, row, list.inner[at] - part.inner_begin,
             static_cast<int32_t>(list.classes[at]), list.block[at]);
    }
    if (dummies && pass.rows.size() == before) Append(&pass, row, 0, 0, -1);
  }
  LookAhead(&pass.mask_next);
  return pass;
}

void Concatenate(const std::vector<FlatPass>& shards, bool blocks,
                 FlatPass* pass) {
  size_t longest = 0;
  for (const FlatPass& shard : shards) {
    longest = std::max(longest, shard.rows.size());
  }
  for (const FlatPass& shard : shards) {
    pass->counts.push_back(static_cast<int64_t>(shard.rows.size()));
    for (const auto member : {&FlatPass::rows, &FlatPass::cols,
                              &FlatPass::block_mask, &FlatPass::mask_next}) {
      std::vector<int32_t>& to = pass->*member;
      to.insert(to.end(), (shard.*member).begin(), (shard.*member).end());
      to.resize(to.size() + longest - (shard.*member).size(), -1);
    }
  }
  const bool any = std::any_of(pass->block_mask.begin(), pass->block_mask.end(),
                               [](int32_t state) { return state > 0; });
  if (!blocks || !any) pass->mask_next.clear();
}

Status CheckGrid(const TileGrid& g, int64_t q_shards, int64_t kv_shards) {
  const auto error = [](const std::string& what) {
    return Status::Error("flat tables: " + what);
  };
  if (g.q_len % g.tile_q != 0 || g.kv_len % g.tile_k != 0) {
    return error("the tiles do not divide the lengths");
  }
  if (q_shards < 1 || kv_shards < 1 || (q_shards > 1 && kv_shards > 1)) {
    return error("shards are of queries or of keys");
  }
  if (g.rows() % q_shards != 0 || g.cols() % kv_shards != 0) {
    return error("the shards do not divide the tiles");
  }
  return Status();
}

Status CheckFlatSizes(const FlatTables& t, const FlatPass& pass) {
  const auto shards = static_cast<size_t>(Shards(t));
  const size_t entries = pass.rows.size();
  bool fits = pass.counts.size() == shards && entries % shards == 0 &&
              pass.cols.size() == entries &&
              pass.block_mask.size() == entries &&
              (pass.mask_next.size() == entries || pass.mask_next.empty());
  for (const int64_t count : pass.counts) {
    fits = fits && count >= 0 && static_cast<size_t>(count) <= entries / shards;
  }
  if (fits) return Status();
  return Status::Error(
      "flat tables: rows, cols, block_mask, mask_next and counts do not fit "
      "together");
}

TracedPass LiftFlatPass(const FlatTables& t, const FlatPass& source,
                        int64_t shard, bool transposed) {
  const Part part = PartOf(t, shard, transposed);
  TracedPass pass = WholePass(t.grid, transposed, t.heads);
  pass.outer_begin = part.outer_begin;
  pass.outer_end = part.outer_end;
  pass.inner_begin = part.inner_begin;
  pass.inner_end = part.inner_end;
  pass.pool = transposed ? t.pool_t : t.pool;
  pass.outer_bytes = optimized::NarrowestBytes(source.rows);
  pass.inner_bytes = optimized::NarrowestBytes(source.cols);
  pass.block_bytes = optimized::NarrowestBytes(source.mask_next);
  TracedHead head;
  const size_t length = source.rows.size() / static_cast<size_t>(Shards(t));
  const size_t begin = static_cast<size_t>(shard) * length;
  const auto count =
      static_cast<size_t>(source.counts[static_cast<size_t>(shard)]);
  for (size_t n = begin; n < begin + count; ++n) {
    const int64_t outer = part.outer_begin + source.rows[n];
    const int64_t block = source.mask_next.empty() ? -1 : source.mask_next[n];
    head.visits.push_back({outer,
                           part.inner_begin + source.cols[n],
                           source.block_mask[n],
                           block,
                           {}});
    const bool last = n + 1 == begin + count;
    if (last || source.rows[n + 1] != source.rows[n]) {
      head.stored.push_back(outer);
    }
  }
  pass.heads.assign(static_cast<size_t>(t.heads), head);
  return pass;
}

// Without lists the kernel runs over the whole grid.
TracedPass DensePass(const FlatTables& t, bool transposed) {
  TracedPass pass = WholePass(t.grid, transposed, t.heads);
  TracedHead head;
  for (int64_t o = 0; o < pass.outer_end; ++o) {
    for (int64_t i = 0; i < pass.inner_end; ++i) {
      head.visits.push_back({o, i, 2, 0, {}});
    }
    head.stored.push_back(o);
  }
  pass.heads.assign(static_cast<size_t>(t.heads), head);
  return pass;
}

}  // namespace

Result<FlatTables> ExportFlat(const optimized::TilePlan& plan, int64_t q_shards,
                              int64_t kv_shards) {
  RETURN_IF_ERROR(CheckGrid(plan.grid, q_shards, kv_shards));
  if (plan.patterns.size() != 1) {
    return Status::Error("flat tables: want one mask for all heads, not " +
                         std::to_string(plan.patterns.size()));
  }
  FlatTables tables;
  tables.grid = plan.grid;
  tables.heads = static_cast<int64_t>(plan.head_pattern.size());
  tables.q_shards = q_shards;
  tables.kv_shards = kv_shards;
  const optimized::TilePattern& pattern = plan.patterns[0];
  tables.dense = pattern.by_query.Count(TileClass::kFull) == plan.grid.tiles();
  if (tables.dense) return tables;
  if (plan.options.blocks) {
    tables.pool = plan.pool;
    tables.pool_t = Transpose(plan.pool);
  }
  std::vector<FlatPass> forward, transposed;
  for (int64_t s = 0; s < Shards(tables); ++s) {
    forward.push_back(
        OneShard(pattern.by_query, PartOf(tables, s, false), false));
    transposed.push_back(
        OneShard(pattern.by_key, PartOf(tables, s, true), true));
  }
  Concatenate(forward, plan.options.blocks, &tables.forward);
  Concatenate(transposed, plan.options.blocks, &tables.transposed);
  return tables;
}

Result<PlanTrace> LiftFlat(const FlatTables& tables) {
  RETURN_IF_ERROR(CheckGrid(tables.grid, tables.q_shards, tables.kv_shards));
  PlanTrace trace;
  trace.grid = tables.grid;
  trace.computed = tables.pool.rows == 0;
  if (tables.dense) {
    trace.forward = {DensePass(tables, false)};
    trace.transposed = {DensePass(tables, true)};
    return trace;
  }
  for (const bool transposed : {false, true}) {
    const FlatPass& source = transposed ? tables.transposed : tables.forward;
    RETURN_IF_ERROR(CheckFlatSizes(tables, source));
    for (int64_t s = 0; s < Shards(tables); ++s) {
      (transposed ? trace.transposed : trace.forward)
          .push_back(LiftFlatPass(tables, source, s, transposed));
    }
  }
  return trace;
}

}  // namespace lockstep::verify
