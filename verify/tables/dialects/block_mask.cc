#include "verify/tables/dialects/block_mask.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/tile_plan.h"
#include "reference/contract/status.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {
namespace {

using optimized::TileClass;
using optimized::TileList;

// Tiles of one class first, ascending, then the others, ascending.
void AppendLists(const TileList& list, TileClass wanted, int64_t columns,
                 BlockLists* lists) {
  for (int64_t o = 0; o < list.outer(); ++o) {
    std::vector<bool> chosen(static_cast<size_t>(columns));
    int32_t num = 0;
    for (int64_t n = list.start[static_cast<size_t>(o)];
         n < list.start[static_cast<size_t>(o) + 1]; ++n) {
      const auto at = static_cast<size_t>(n);
      if (list.classes[at] != wanted) continue;
      chosen[static_cast<size_t>(list.inner[at])] = true;
      lists->indices.push_back(list.inner[at]);
      ++num;
    }
    lists->num.push_back(num);
    for (int64_t i = 0; i < columns; ++i) {
      if (!chosen[static_cast<size_t>(i)]) {
        lists->indices.push_back(static_cast<int32_t>(i));
      }
    }
  }
}

Status CheckLists(const BlockMaskTables& t, const BlockLists& lists,
                  const char* name, int64_t outer, int64_t columns) {
  const auto rows = static_cast<size_t>(t.tables * outer);
  if (lists.num.size() != rows ||
      lists.indices.size() != rows * static_cast<size_t>(columns)) {
    return Status::Error(std::string("block mask: ") + name +
                         " lists: want counts for " + std::to_string(rows) +
                         " tiles and " + std::to_string(columns) +
                         " columns of indices");
  }
  for (const int32_t num : lists.num) {
    if (num >= 0 && num <= columns) continue;
    return Status::Error(std::string("block mask: a ") + name + " list of " +
                         std::to_string(num) + " tiles in " +
                         std::to_string(columns) + " columns");
  }
  return Status();
}

void Visit(const BlockLists& lists, int64_t row, int64_t columns, int64_t state,
           int64_t outer, TracedHead* head) {
  const int32_t num = lists.num[static_cast<size_t>(row)];
  for (int64_t n = 0; n < num; ++n) {
    const int32_t inner = lists.indices[static_cast<size_t>(row * columns + n)];
    head->visits.push_back({outer, inner, state, 0, {}});
  }
}

TracedPass LiftBlockPass(const BlockMaskTables& t, bool transposed) {
  TracedPass pass = WholePass(t.grid, transposed, t.heads);
  pass.ascending = false;  // partial before full
  const int64_t columns = transposed ? t.q_columns : t.kv_columns;
  for (int64_t h = 0; h < t.heads; ++h) {
    TracedHead& head = pass.heads[static_cast<size_t>(h)];
    head.table = t.tables == 1 ? 0 : h;
    for (int64_t o = 0; o < pass.outer_end; ++o) {
      const int64_t row = head.table * pass.outer_end + o;
      Visit(transposed ? t.q : t.kv, row, columns, 1, o, &head);
      Visit(transposed ? t.full_q : t.full_kv, row, columns, 2, o, &head);
      head.stored.push_back(o);
    }
  }
  return pass;
}

}  // namespace

Result<BlockMaskTables> ExportBlockMask(const optimized::TilePlan& plan) {
  if (plan.options.boundary != optimized::Boundary::kPadded) {
    return Status::Error(
        "block mask: ragged tiles are judged as padded; plan them so");
  }
  BlockMaskTables t;
  t.grid = plan.grid;
  t.heads = static_cast<int64_t>(plan.head_pattern.size());
  t.tables = plan.patterns.size() == 1 ? 1 : t.heads;
  t.kv_columns = plan.grid.cols();
  t.q_columns = plan.grid.rows();
  for (int64_t h = 0; h < t.tables; ++h) {
    const optimized::TilePattern& pattern = plan.pattern(h);
    AppendLists(pattern.by_query, TileClass::kPartial, t.kv_columns, &t.kv);
    AppendLists(pattern.by_query, TileClass::kFull, t.kv_columns, &t.full_kv);
    AppendLists(pattern.by_key, TileClass::kPartial, t.q_columns, &t.q);
    AppendLists(pattern.by_key, TileClass::kFull, t.q_columns, &t.full_q);
  }
  return t;
}

Result<PlanTrace> LiftBlockMask(const BlockMaskTables& tables) {
  if (tables.tables != 1 && tables.tables != tables.heads) {
    return Status::Error("block mask: want lists for 1 or " +
                         std::to_string(tables.heads) + " heads, not " +
                         std::to_string(tables.tables));
  }
  const int64_t rows = tables.grid.rows();
  const int64_t cols = tables.grid.cols();
  for (const Status& status :
       {CheckLists(tables, tables.kv, "kv", rows, tables.kv_columns),
        CheckLists(tables, tables.full_kv, "full_kv", rows, tables.kv_columns),
        CheckLists(tables, tables.q, "q", cols, tables.q_columns),
        CheckLists(tables, tables.full_q, "full_q", cols, tables.q_columns)}) {
    if (!status.ok()) return status;
  }
  PlanTrace trace;
  trace.grid = tables.grid;
  trace.boundary = optimized::Boundary::kPadded;
  trace.computed = true;
  trace.forward.push_back(LiftBlockPass(tables, false));
  trace.transposed.push_back(LiftBlockPass(tables, true));
  return trace;
}

}  // namespace lockstep::verify
