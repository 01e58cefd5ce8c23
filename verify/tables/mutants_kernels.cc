#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "verify/case/block_plan.h"
#include "verify/tables/mutants_bugs.h"

namespace lockstep::verify::plan_bugs {
namespace {

// The kernel does not look at the state: padding is work without a mask, after
// the active tiles of the output tile.
void Execute(TracedPass* pass) {
  for (TracedHead& head : pass->heads) {
    for (const PaddingCell& cell : head.padding) {
      const auto behind = std::find_if(
          head.visits.begin(), head.visits.end(),
          [&](const TileVisit& v) { return v.outer > cell.outer; });
      head.visits.insert(behind, {cell.outer, cell.inner, 2, cell.block, {}});
    }
    head.padding.clear();
  }
}

// Output tiles that no visit works on keep what was there.
void OnlyVisitedStored(std::vector<TracedPass>* passes) {
  for (TracedPass& pass : *passes) {
    for (TracedHead& head : pass.heads) {
      std::set<int64_t> visited;
      for (const TileVisit& visit : head.visits) {
        if (visit.state != 0) visited.insert(visit.outer);
      }
      std::erase_if(head.stored,
                    [&](int64_t o) { return !visited.contains(o); });
    }
  }
}

bool Visits(const std::vector<TracedPass>& passes) {
  return std::any_of(passes.begin(), passes.end(), [](const TracedPass& pass) {
    return std::any_of(pass.heads.begin(), pass.heads.end(),
                       [](const TracedHead& h) { return !h.visits.empty(); });
  });
}

bool By(const Scene& scene, PlanDialect dialect) {
  return scene.asked.dialect == dialect;
}

void PaddingExecuted(const Scene& scene, PlanTrace* trace) {
  if (By(scene, PlanDialect::kShrunk)) Execute(&trace->forward[0]);
}

void ShardPaddingExecuted(const Scene& scene, PlanTrace* trace) {
  if (!By(scene, PlanDialect::kSplash) || scene.asked.q_shards == 1) return;
  for (TracedPass& pass : trace->forward) Execute(&pass);
}

void KeysFromGridStep(const Scene& scene, PlanTrace* trace) {
  if (!By(scene, PlanDialect::kSplash) || !trace->computed) return;
  for (TracedPass& pass : trace->forward) {
    // A whole grid has a step for every tile: they are the same.
    if (pass.width == pass.inner_end - pass.inner_begin) continue;
    for (TracedHead& head : pass.heads) {
      int64_t step = 0;
      std::optional<int64_t> outer;
      for (TileVisit& visit : head.visits) {
        step = visit.outer == outer ? step : 0;
        outer = visit.outer;
        visit.mask_inner = step++;
      }
    }
  }
}

void EmptyMaskNotWritten(const Scene& scene, PlanTrace* trace) {
  if (!By(scene, PlanDialect::kShrunk) || Visits(trace->forward)) return;
  for (TracedPass* pass : {&trace->forward[0], &trace->transposed[0]}) {
    pass->grid_width = pass->width = 0;
    for (TracedHead& head : pass->heads) {
      head.padding.clear();
      head.stored.clear();
    }
  }
}

void EmptyRowNotWritten(const Scene&, PlanTrace* trace) {
  OnlyVisitedStored(&trace->forward);
}

void EmptyColumnNotFinished(const Scene&, PlanTrace* trace) {
  OnlyVisitedStored(&trace->transposed);
}

void BlockNotTransposed(const Scene&, PlanTrace* trace) {
  if (trace->grid.tile_q != trace->grid.tile_k) return;
  for (size_t n = 0; n < trace->transposed.size(); ++n) {
    trace->transposed[n].pool = trace->forward[n].pool;
  }
}

void RowsShuffled(const Scene& scene, PlanTrace* trace) {
  if (!By(scene, PlanDialect::kFlatList)) return;
  for (TracedPass& pass : trace->forward) {
    for (TracedHead& head : pass.heads) {
      std::stable_sort(head.visits.begin(), head.visits.end(),
                       [](const TileVisit& a, const TileVisit& b) {
                         return a.inner < b.inner;
                       });
    }
  }
}

void LastTileNotStored(const Scene& scene, PlanTrace* trace) {
  if (!By(scene, PlanDialect::kFlatList)) return;
  for (TracedPass& pass : trace->forward) {
    for (TracedHead& head : pass.heads) head.stored.pop_back();
  }
}

void EndOfListExecuted(FlatTables* tables) {
  std::vector<int64_t>& counts = tables->forward.counts;
  if (counts.empty()) return;
  const int64_t longest = *std::max_element(counts.begin(), counts.end());
  std::fill(counts.begin(), counts.end(), longest);
}

void ShardTilesAsGlobal(const Scene& scene, PlanTrace* trace) {
  if (!By(scene, PlanDialect::kSplash)) return;
  for (TracedPass& pass : trace->transposed) {
    for (TracedHead& head : pass.heads) {
      for (TileVisit& visit : head.visits) visit.inner -= pass.inner_begin;
    }
  }
}

constexpr PlanMutantInfo kKernelBugs[] = {
    {"plan.padding_executed", "kernel", Invariant::kVisitedOnce,
     "padding of zeros is worked on: tile 0 again",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=ids:0*2,1*2,0*4 "
     "kv_seg=ids:0*4,2*2,0*2",
     PaddingExecuted},
    {"plan.shard_padding_executed", "kernel", Invariant::kVisitedOnce,
     "padding that repeats the last entry is worked on",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=splash q_shards=2",
     ShardPaddingExecuted},
    {"plan.keys_from_grid_step", "kernel", Invariant::kEffectiveMask,
     "key positions come from the step of the shrunk grid",
     "sq=8 skv=8 bq=2 bk=2 mask=causal&window:2,0 dialect=splash blocks=no",
     KeysFromGridStep},
    {"plan.empty_mask_not_written", "kernel", Invariant::kEveryTileStored,
     "a grid of width 0 never writes", "sq=4 skv=4 bq=2 bk=2 valid_kv=0",
     EmptyMaskNotWritten},
    {"plan.empty_row_not_written", "kernel", Invariant::kEveryTileStored,
     "a query tile without active tiles keeps what was there",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=ids:0*2,1*2,0*4 "
     "kv_seg=ids:0*4,2*2,0*2",
     EmptyRowNotWritten},
    {"plan.empty_column_not_finished", "kernel", Invariant::kEveryTileStored,
     "the transposed pass writes at the last active step",
     "sq=8 skv=8 bq=2 bk=2 mask=causal q_seg=ids:0*2,1*2,0*4 "
     "kv_seg=ids:0*4,2*2,0*2",
     EmptyColumnNotFinished},
    {"plan.block_not_transposed", "kernel", Invariant::kTransposeAgrees,
     "the transposed pass reads blocks as the forward pass does",
     "sq=8 skv=8 bq=2 bk=2 mask=causal", BlockNotTransposed},
    {"plan.rows_shuffled", "kernel", Invariant::kVisitsTogether,
     "an output tile is taken up again after another",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=flat_list", RowsShuffled},
    {"plan.last_tile_not_stored", "kernel", Invariant::kEveryTileStored,
     "the end of a list is looked for behind it",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=flat_list", LastTileNotStored},
    {"plan.end_of_list_executed", "kernel", Invariant::kIndexInRange,
     "the -1 behind a shorter shard is worked on",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=flat_list q_shards=2",
     EndOfListExecuted},
    {"plan.shard_tiles_as_global", "kernel", Invariant::kIndexInRange,
     "tiles that count from the shard's start are read as the grid's",
     "sq=8 skv=8 bq=2 bk=2 mask=causal dialect=splash q_shards=2",
     ShardTilesAsGlobal},
};

}  // namespace

std::span<const PlanMutantInfo> KernelBugs() { return kKernelBugs; }

}  // namespace lockstep::verify::plan_bugs
