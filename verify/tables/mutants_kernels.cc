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

}  // namespace

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

}  // namespace lockstep::verify::plan_bugs
