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

constexpr PlanMutantInfo kTableBugs[] = {
    {"plan.states_swapped", "tables", Invariant::kFullIsFull,
     "1 means full and 2 partial", "sq=8 skv=8 bq=2 bk=2 mask=causal",
     StatesSwapped},
    {"plan.full_tiles_dropped", "tables", Invariant::kSkippedIsEmpty,
     "only the list of partial tiles is handed over",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=block_mask", FullTilesDropped},
    {"plan.whole_grid_data_next", "tables", Invariant::kSkippedIsEmpty,
     "states of a shrunk grid with indices of the whole one",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=runs:3,4,1 kv_seg=runs:3,4,1 "
     "dialect=splash",
     WholeGridDataNext},
    {"plan.width_of_other_direction", "tables", Invariant::kGridWidth,
     "the transposed grid is as wide as the forward one",
     "sq=4 skv=4 bq=2 bk=2 valid_kv=2", WidthOfOtherDirection},
    {"plan.width_of_last_row", "tables", Invariant::kGridWidth,
     "the grid is as wide as its last row",
     "sq=4 skv=4 bq=2 bk=2 mask=window:0,inf", WidthOfLastRow},
    {"plan.width_of_first_row", "tables", Invariant::kGridWidth,
     "the grid is as wide as its first row", "sq=4 skv=4 bq=2 bk=2 mask=causal",
     WidthOfFirstRow},
    {"plan.mask_next_late", "tables", Invariant::kBlockIsMask,
     "blocks are those of the partial tile before",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=runs:3,4,1 kv_seg=runs:3,4,1",
     MaskNextLate},
    {"plan.full_fetches_beyond", "tables", Invariant::kIndexInRange,
     "full tiles name the block behind the last, which is fetched",
     "sq=4 skv=4 bq=2 bk=2 mask=causal", FullFetchesBeyond},
    {"plan.forward_tables_transposed", "tables", Invariant::kTransposeAgrees,
     "the transposed pass reads the forward tables",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=runs:3,4,1 kv_seg=runs:3,4,1",
     ForwardTablesTransposed},
    {"plan.transpose_loses_classes", "tables", Invariant::kTransposeAgrees,
     "full tiles are partial in the transposed tables",
     "sq=8 skv=8 bq=2 bk=2 mask=causal", TransposeLosesClasses},
    {"plan.index_wraps", "tables", Invariant::kIndexFitsType,
     "key tile 128 in 8 bits is -128", "sq=1 skv=130 bq=1 bk=1", IndexWraps},
    {"plan.padding_not_fetchable", "tables", Invariant::kPaddingIsInert,
     "padding names tile -1, which is fetched",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=ids:0*2,1*2,0*4 "
     "kv_seg=ids:0*4,2*2,0*2",
     PaddingNotFetchable},
    {"plan.padding_with_state", "tables", Invariant::kPaddingIsInert,
     "padding behind the grid's width has the state of work",
     "sq=8 skv=8 bq=2 bk=2 mask=causal width=6 width_t=6", PaddingWithState},
    {"plan.tables_of_other_window", "tables", Invariant::kSkippedIsEmpty,
     "cached tables of another window are used",
     "sq=8 skv=8 bq=2 bk=2 mask=causal", TablesOfOtherWindow},
    {"plan.captured_documents", "tables", Invariant::kEffectiveMask,
     "the documents of the first batch mask the second",
     "sq=4 skv=4 bq=2 bk=2 mask=causal q_seg=runs:1,3 kv_seg=runs:1,3",
     CapturedDocuments},
    {"plan.compact_columns_transposed", "tables", Invariant::kTransposeAgrees,
     "lists are transposed as if they had as many columns as tiles",
     "sq=8 skv=8 bq=2 bk=2 mask=causal&window:2,0 dialect=block_mask",
     CompactColumnsTransposed},
    {"plan.crop_compares_indices", "tables", Invariant::kIndexInRange,
     "lists cut to fewer tiles keep indices beyond the end",
     "sq=6 skv=6 bq=2 bk=2 valid_kv=1 dialect=block_mask", CropComparesIndices},
};

}  // namespace

std::span<const PlanMutantInfo> TableBugs() { return kTableBugs; }

}  // namespace lockstep::verify::plan_bugs
