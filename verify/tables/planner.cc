#include "verify/tables/planner.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "optimized/block_pool.h"
#include "verify/case/block_plan.h"

namespace lockstep::verify {
namespace {

using optimized::BlockRange;
using optimized::TileClass;
using optimized::TileGrid;
using optimized::TilePlan;

RunOutcome Unsupported(const std::string& message) {
  return {RunOutcome::State::kUnsupported, message, ""};
}

template <typename Tables>
RunOutcome Lifted(Result<Tables> tables,
                  const std::function<void(Tables*)>& bug,
                  Result<PlanTrace> (*lift)(const Tables&), PlanTrace* trace) {
  if (!tables.ok()) return Unsupported(tables.message());
  bug(&tables.value());
  Result<PlanTrace> lifted = lift(tables.value());
  if (!lifted.ok()) {
    return {RunOutcome::State::kError, lifted.message(), ""};
  }
  *trace = std::move(lifted.value());
  return {};
}

// A row of tiles that the lists have nothing for is never written.
std::optional<int64_t> Unwritten(const FlatTables& tables) {
  const Result<PlanTrace> lifted = LiftFlat(tables);
  if (!lifted.ok()) return std::nullopt;
  for (const TracedPass& pass : lifted->forward) {
    const std::set<int64_t> stored(pass.heads[0].stored.begin(),
                                   pass.heads[0].stored.end());
    for (int64_t o = pass.outer_begin; o < pass.outer_end; ++o) {
      if (!stored.contains(o)) return o;
    }
  }
  return std::nullopt;
}

RunOutcome Flat(const PlanBug& bug, const BlockPlanCase& c,
                const TilePlan& sound, const TilePlan& plan, PlanTrace* trace) {
  const Result<FlatTables> said = ExportFlat(sound, c.q_shards, c.kv_shards);
  if (said.ok()) {
    const std::optional<int64_t> row = Unwritten(said.value());
    if (row) {
      return Unsupported("flat lists never write query tile " +
                         std::to_string(*row) + ", which has no active tile" +
                         (c.kv_shards > 1 ? " in some shard" : ""));
    }
  }
  return Lifted<FlatTables>(
      ExportFlat(plan, c.q_shards, c.kv_shards),
      [&](FlatTables* t) {
        if (bug.flat != nullptr) bug.flat(t);
      },
      LiftFlat, trace);
}

RunOutcome Exported(const PlanBug& bug, const BlockPlanCase& c,
                    const TilePlan& sound, const TilePlan& plan,
                    PlanTrace* trace) {
  switch (c.dialect) {
    case PlanDialect::kShrunk:
      return Lifted<ShrunkTables>(
          ExportShrunk(plan, c.width, c.width_t),
          [&](ShrunkTables* t) {
            if (bug.shrunk != nullptr) bug.shrunk(t);
          },
          LiftShrunk, trace);
    case PlanDialect::kSplash:
      return Lifted<SplashTables>(
          ExportSplash(plan, c.q_shards),
          [&](SplashTables* t) {
            if (bug.splash != nullptr) bug.splash(plan, t);
          },
          LiftSplash, trace);
    case PlanDialect::kFlatList:
      return Flat(bug, c, sound, plan, trace);
    case PlanDialect::kBlockMask:
      break;
  }
  return Lifted<BlockMaskTables>(
      ExportBlockMask(plan),
      [&](BlockMaskTables* t) {
        if (bug.lists != nullptr) bug.lists(t);
      },
      LiftBlockMask, trace);
}

Result<TilePlan> PlanOf(const BlockPlanScene& scene) {
  return PlanTiles(scene.data.problem, scene.data.inputs, 0,
                   TileOptionsOf(scene.asked));
}

// Visible elements of a tile, as ascending ranges of each row.
std::vector<BlockRange> Elements(const IntendedMask& mask, const TileGrid& g,
                                 int64_t head, int64_t row, int64_t col) {
  std::vector<BlockRange> ranges;
  const int64_t first = col * g.tile_k;
  for (int32_t r = 0; r < g.tile_q; ++r) {
    for (const KeyRange& keys :
         mask.Keys(head, row * g.tile_q + r, first, first + g.tile_k)) {
      const int64_t begin = std::max<int64_t>(keys.begin - first, 0);
      const int64_t end = std::min(keys.end - first, g.tile_k);
      ranges.push_back(
          {r, static_cast<int32_t>(begin), static_cast<int32_t>(end)});
    }
  }
  return ranges;
}

}  // namespace

RunOutcome PlanWith(const PlanBug& bug, const BlockPlanScene& scene,
                    PlanTrace* trace) {
  const Result<TilePlan> sound = PlanOf(scene);
  if (!sound.ok()) {
    return {RunOutcome::State::kError, sound.message(), ""};
  }
  TilePlan plan = sound.value();
  if (bug.asked != nullptr) {
    const std::optional<BlockPlanScene> other = SceneOf(scene, bug.asked);
    Result<TilePlan> of_other = other ? PlanOf(*other) : sound;
    if (of_other.ok()) plan = std::move(of_other.value());
  }
  if (bug.plan != nullptr) bug.plan(scene, &plan);
  RunOutcome outcome = Exported(bug, scene.asked, sound.value(), plan, trace);
  if (outcome.state == RunOutcome::State::kRan && bug.trace != nullptr) {
    bug.trace(scene, trace);
  }
  return outcome;
}

std::optional<BlockPlanScene> SceneOf(const BlockPlanScene& scene,
                                      void (*asked)(BlockPlanCase*)) {
  Case other = scene.call;
  asked(&other.Get<BlockPlanCase>());
  if (!ValidateCase(other).ok()) return std::nullopt;
  Result<BlockPlanScene> opened = OpenBlockPlan(other, {});
  if (!opened.ok()) return std::nullopt;
  return std::move(opened.value());
}

TileClass ClassOf(const IntendedMask& mask, const TilePlan& plan, int64_t head,
                  int64_t row, int64_t col) {
  const TileGrid& g = plan.grid;
  const int64_t visible =
      mask.PairsIn(head, RangeOf(row, g.tile_q), RangeOf(col, g.tile_k));
  const int64_t whole = plan.options.boundary == optimized::Boundary::kPadded
                            ? g.tile_q * g.tile_k
                            : std::min(g.tile_q, g.q_len - row * g.tile_q) *
                                  std::min(g.tile_k, g.kv_len - col * g.tile_k);
  if (visible == 0) return TileClass::kEmpty;
  return visible == whole ? TileClass::kFull : TileClass::kPartial;
}

void Rejudge(const IntendedMask& mask, const TileJudge& judge, TilePlan* plan) {
  const TileGrid& g = plan->grid;
  optimized::BlockPoolBuilder pool(g.tile_q, g.tile_k);
  for (size_t p = 0; p < plan->patterns.size(); ++p) {
    const auto& heads = plan->head_pattern;
    const int64_t head =
        std::find(heads.begin(), heads.end(), static_cast<int32_t>(p)) -
        heads.begin();
    optimized::TileList list;
    for (int64_t row = 0; row < g.rows(); ++row) {
      for (int64_t col = 0; col < g.cols(); ++col) {
        const TileClass c =
            judge(head, row, col, ClassOf(mask, *plan, head, row, col));
        if (c == TileClass::kEmpty) continue;
        list.inner.push_back(static_cast<int32_t>(col));
        list.classes.push_back(c);
        const bool stored = plan->options.blocks && c == TileClass::kPartial;
        list.block.push_back(
            stored ? pool.Add(Elements(mask, g, head, row, col)) : -1);
      }
      list.start.push_back(list.active());
    }
    plan->patterns[p] = {list, Transpose(list, g.cols())};
  }
  if (plan->options.blocks) plan->pool = pool.Take();
}

}  // namespace lockstep::verify
