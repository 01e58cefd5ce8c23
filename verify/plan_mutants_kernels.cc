#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "verify/dialects/flat_list.h"
#include "verify/dialects/splash.h"
#include "verify/plan_mutants_trials.h"
#include "verify/plan_scene.h"

namespace lockstep::verify::plan_trials {
namespace {

PlanTrial Splash(const PlanScene& scene, int64_t q_shards) {
  const Result<SplashTables> tables = ExportSplash(scene.plan, q_shards);
  return {std::move(LiftSplash(tables.value()).value()), scene.mask};
}

FlatTables Flat(const PlanScene& scene, int64_t q_shards) {
  return std::move(ExportFlat(scene.plan, q_shards, 1).value());
}

PlanTrial Lifted(const FlatTables& tables, const PlanScene& scene) {
  return {std::move(LiftFlat(tables).value()), scene.mask};
}

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

void NotStored(int64_t outer, TracedPass* pass) {
  for (TracedHead& head : pass->heads) std::erase(head.stored, outer);
}

}  // namespace

PlanTrial PaddingExecuted(bool broken) {
  PlanTrial trial = Shrunk(MakeScene(kEight, 1, Gaps));
  if (broken) Execute(&trial.trace.forward[0]);
  return trial;
}

PlanTrial ShardPaddingExecuted(bool broken) {
  PlanTrial trial = Splash(MakeScene(kEight, 1, Causal), 2);
  if (broken) Execute(&trial.trace.forward[0]);
  return trial;
}

PlanTrial KeysFromGridStep(bool broken) {
  optimized::TileOptions options;
  options.blocks = false;
  PlanTrial trial = Splash(MakeScene(kEight, 1, Window, options), 1);
  int64_t step = 0;
  int64_t outer = 0;
  for (TileVisit& visit : trial.trace.forward[0].heads[0].visits) {
    step = visit.outer == outer ? step : 0;
    outer = visit.outer;
    if (broken) visit.mask_inner = step;
    ++step;
  }
  return trial;
}

PlanTrial EmptyMaskNotWritten(bool broken) {
  PlanTrial trial = Shrunk(MakeScene(
      {4, 4, 2, 2}, 1, [](int64_t, int64_t, int64_t) { return false; }));
  if (broken) {
    for (TracedPass* pass :
         {&trial.trace.forward[0], &trial.trace.transposed[0]}) {
      pass->grid_width = pass->width = 0;
      pass->heads[0].padding.clear();
      pass->heads[0].stored.clear();
    }
  }
  return trial;
}

PlanTrial EmptyRowNotWritten(bool broken) {
  PlanTrial trial = Shrunk(MakeScene(kEight, 1, Gaps));
  if (broken) NotStored(1, &trial.trace.forward[0]);
  return trial;
}

PlanTrial EmptyColumnNotFinished(bool broken) {
  PlanTrial trial = Shrunk(MakeScene(kEight, 1, Gaps));
  if (broken) NotStored(2, &trial.trace.transposed[0]);
  return trial;
}

PlanTrial BlockNotTransposed(bool broken) {
  PlanTrial trial = Shrunk(MakeScene(kEight, 1, Causal));
  if (broken) trial.trace.transposed[0].pool = trial.trace.forward[0].pool;
  return trial;
}

PlanTrial RowsShuffled(bool broken) {
  const PlanScene scene = MakeScene(kEight, 1, Causal);
  PlanTrial trial = Lifted(Flat(scene, 1), scene);
  if (broken) {
    std::vector<TileVisit>& visits = trial.trace.forward[0].heads[0].visits;
    std::stable_sort(visits.begin(), visits.end(),
                     [](const TileVisit& a, const TileVisit& b) {
                       return a.inner < b.inner;
                     });
  }
  return trial;
}

PlanTrial LastTileNotStored(bool broken) {
  const PlanScene scene = MakeScene(kEight, 1, Causal);
  PlanTrial trial = Lifted(Flat(scene, 1), scene);
  if (broken) trial.trace.forward[0].heads[0].stored.pop_back();
  return trial;
}

PlanTrial EndOfListExecuted(bool broken) {
  const PlanScene scene = MakeScene(kEight, 1, Causal);
  FlatTables tables = Flat(scene, 2);
  if (broken) tables.forward.counts[0] = tables.forward.counts[1];
  return Lifted(tables, scene);
}

PlanTrial ShardTilesAsGlobal(bool broken) {
  PlanTrial trial = Splash(MakeScene(kEight, 1, Causal), 2);
  TracedPass& second = trial.trace.transposed[1];
  for (TileVisit& visit : second.heads[0].visits) {
    if (broken) visit.inner -= second.inner_begin;
  }
  return trial;
}

}  // namespace lockstep::verify::plan_trials
