#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "optimized/worklist.h"
#include "verify/case/block_plan.h"
#include "verify/tables/mutants_bugs.h"

namespace lockstep::verify::plan_bugs {
namespace {

using optimized::Worklist;
using Tables = ShrunkTables;

// Every pattern's table of one direction; none has more than `width` steps.
void CutTo(int64_t width, Worklist Tables::Pattern::* side, Tables* tables) {
  for (Tables::Pattern& pattern : tables->patterns) {
    Worklist& work = pattern.*side;
    if (width >= work.grid_width) continue;
    Worklist cut = work;
    cut.width = cut.grid_width = width;
    for (const auto member :
         {&Worklist::data_next, &Worklist::block_mask, &Worklist::mask_next}) {
      (cut.*member).clear();
      for (int64_t o = 0; o < work.outer; ++o) {
        const auto first = (work.*member).begin() + o * work.width;
        (cut.*member).insert((cut.*member).end(), first, first + width);
      }
    }
    work = std::move(cut);
  }
}

// Active tiles of an output tile of the widest pattern, at least 1.
int64_t WidthOf(int64_t outer, const Tables& tables) {
  int64_t most = 1;
  for (const Tables::Pattern& pattern : tables.patterns) {
    const Worklist& work = pattern.forward;
    int64_t active = 0;
    for (int64_t step = 0; step < work.grid_width; ++step) {
      active += work.block_mask[work.At(outer, step)] != 0;
    }
    most = std::max(most, active);
  }
  return most;
}

// Cells of the forward tables that are no work.
template <typename Change>
void EachPadding(Tables* tables, const Change& change) {
  for (Tables::Pattern& pattern : tables->patterns) {
    for (size_t cell = 0; cell < pattern.forward.block_mask.size(); ++cell) {
      if (pattern.forward.block_mask[cell] == 0) {
        change(&pattern.forward, cell);
      }
    }
  }
}

// Every window one key wider.
bool Widen(MaskExpr* mask) {
  bool any = mask->kind == MaskExpr::Kind::kWindow;
  if (any && mask->left != kUnlimited) ++mask->left;
  for (MaskExpr& child : mask->children) any = Widen(&child) || any;
  return any;
}

void OtherWindow(MaskExpr* mask) {
  if (Widen(mask)) return;
  MaskExpr window;
  window.kind = MaskExpr::Kind::kWindow;
  window.left = 2;
  MaskExpr both;
  both.kind = MaskExpr::Kind::kAnd;
  both.children = {*mask, window};
  *mask = mask->kind == MaskExpr::Kind::kFull ? window : both;
}

// The most tiles that a list of any output tile has.
int32_t Most(const BlockLists& a, const BlockLists& b) {
  return std::max(*std::max_element(a.num.begin(), a.num.end()),
                  *std::max_element(b.num.begin(), b.num.end()));
}

}  // namespace

void StatesSwapped(const Scene&, PlanTrace* trace) {
  for (auto* passes : {&trace->forward, &trace->transposed}) {
    for (TracedPass& pass : *passes) {
      for (TracedHead& head : pass.heads) {
        for (TileVisit& visit : head.visits) {
          if (visit.state != 0) visit.state = 3 - visit.state;
        }
      }
    }
  }
}

void FullTilesDropped(BlockMaskTables* tables) {
  std::fill(tables->full_kv.num.begin(), tables->full_kv.num.end(), 0);
  std::fill(tables->full_q.num.begin(), tables->full_q.num.end(), 0);
}

void WholeGridDataNext(const TilePlan& plan, SplashTables* tables) {
  if (!tables->shrunk) return;
  const Result<SplashTables> whole =
      ExportSplash(plan, tables->q_shards, false);
  if (!whole.ok()) return;
  SplashPass& pass = tables->forward;
  for (int64_t row = 0; row < pass.rows; ++row) {
    for (int64_t step = 0; step < pass.cols; ++step) {
      pass.data_next[pass.At(0, row, step)] =
          whole->forward.data_next[whole->forward.At(0, row, step)];
    }
  }
}

void WidthOfOtherDirection(ShrunkTables* tables) {
  CutTo(tables->patterns[0].forward.grid_width, &Tables::Pattern::transposed,
        tables);
}

void WidthOfLastRow(ShrunkTables* tables) {
  CutTo(WidthOf(tables->grid.rows() - 1, *tables), &Tables::Pattern::forward,
        tables);
}

void WidthOfFirstRow(ShrunkTables* tables) {
  CutTo(WidthOf(0, *tables), &Tables::Pattern::forward, tables);
}

void MaskNextLate(ShrunkTables* tables) {
  for (Tables::Pattern& pattern : tables->patterns) {
    Worklist& work = pattern.forward;
    int32_t before = 0;
    for (size_t cell = 0; cell < work.block_mask.size(); ++cell) {
      if (work.block_mask[cell] == 1) std::swap(before, work.mask_next[cell]);
    }
  }
}

void FullFetchesBeyond(ShrunkTables* tables) {
  const auto beyond = static_cast<int32_t>(tables->pool.size());
  if (beyond == 0) return;
  for (Tables::Pattern& pattern : tables->patterns) {
    Worklist& work = pattern.forward;
    for (size_t cell = 0; cell < work.block_mask.size(); ++cell) {
      if (work.block_mask[cell] == 2) work.mask_next[cell] = beyond;
    }
  }
}

void ForwardTablesTransposed(ShrunkTables* tables) {
  if (tables->grid.rows() != tables->grid.cols()) return;
  for (Tables::Pattern& pattern : tables->patterns) {
    pattern.transposed = pattern.forward;
  }
}

void TransposeLosesClasses(ShrunkTables* tables) {
  if (tables->pool.rows == 0) return;
  const auto ones = static_cast<int32_t>(tables->pool.Append());
  for (int64_t r = 0; r < tables->pool.rows; ++r) {
    for (int64_t c = 0; c < tables->pool.cols; ++c) {
      tables->pool.Set(ones, r, c, true);
    }
  }
  tables->block_bytes = 4;
  for (Tables::Pattern& pattern : tables->patterns) {
    Worklist& work = pattern.transposed;
    for (size_t cell = 0; cell < work.block_mask.size(); ++cell) {
      if (work.block_mask[cell] != 2) continue;
      work.block_mask[cell] = 1;
      work.mask_next[cell] = ones;
    }
  }
}

void IndexWraps(ShrunkTables* tables) {
  if (tables->inner_bytes == 1) return;
  tables->inner_bytes = 1;
  for (Tables::Pattern& pattern : tables->patterns) {
    for (int32_t& tile : pattern.forward.data_next) {
      tile = static_cast<int8_t>(tile);
    }
  }
}

void PaddingNotFetchable(ShrunkTables* tables) {
  EachPadding(tables,
              [](Worklist* work, size_t cell) { work->data_next[cell] = -1; });
}

void PaddingWithState(ShrunkTables* tables) {
  EachPadding(tables, [](Worklist* work, size_t cell) {
    const auto step = static_cast<int64_t>(cell) % work->width;
    if (step >= work->grid_width) work->block_mask[cell] = 2;
  });
}

void TablesOfOtherWindow(BlockPlanCase* asked) {
  OtherWindow(&asked->mask);
  for (auto& [head, mask] : asked->head_mask) OtherWindow(&mask);
}

// The row before ended its first document one token later.
void CapturedDocuments(BlockPlanCase* asked) {
  for (Segments* side : {&asked->q_seg, &asked->kv_seg}) {
    for (auto& runs : side->rows) {
      if (runs.size() < 2) continue;
      ++runs.front().length;
      if (--runs.back().length == 0) runs.pop_back();
    }
  }
}

// Lists with no more columns than the fullest needs.
void CompactColumnsTransposed(BlockMaskTables* tables) {
  const int64_t columns =
      std::max<int64_t>(Most(tables->kv, tables->full_kv), 1);
  if (columns >= tables->kv_columns) return;
  const auto rows = static_cast<int64_t>(tables->kv.num.size());
  for (BlockLists* lists : {&tables->kv, &tables->full_kv}) {
    std::vector<int32_t> compact;
    for (int64_t row = 0; row < rows; ++row) {
      const auto from = lists->indices.begin() + row * tables->kv_columns;
      compact.insert(compact.end(), from, from + columns);
    }
    lists->indices = compact;
  }
  tables->kv_columns = columns;
  const int64_t keys = tables->grid.cols();
  for (BlockLists* lists : {&tables->q, &tables->full_q}) {
    for (size_t row = 0; row < lists->num.size(); ++row) {
      if (static_cast<int64_t>(row) % keys >= columns) lists->num[row] = 0;
    }
  }
}

// The sequence had another tile of keys, which each list with room names.
void CropComparesIndices(BlockMaskTables* tables) {
  for (size_t row = 0; row < tables->kv.num.size(); ++row) {
    const int64_t num = tables->kv.num[row];
    if (num == 0 || num >= tables->kv_columns) continue;
    const int64_t at = static_cast<int64_t>(row) * tables->kv_columns + num;
    tables->kv.indices[static_cast<size_t>(at)] =
        static_cast<int32_t>(tables->grid.cols());
    ++tables->kv.num[row];
  }
}

}  // namespace lockstep::verify::plan_bugs
