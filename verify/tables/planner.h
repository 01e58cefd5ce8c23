// Our planner, our exporters and the kernel that reads their tables, with a bug
// planted at one stage: what the mutants of block_plan are.
#ifndef LOCKSTEP_VERIFY_TABLES_PLANNER_H_
#define LOCKSTEP_VERIFY_TABLES_PLANNER_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "optimized/tile_plan.h"
#include "verify/case/block_plan.h"
#include "verify/case/case.h"
#include "verify/tables/dialects/block_mask.h"
#include "verify/tables/dialects/flat_list.h"
#include "verify/tables/dialects/shrunk.h"
#include "verify/tables/dialects/splash.h"
#include "verify/tables/intended_mask.h"
#include "verify/tables/scene.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

// Each null: that stage is sound. A stage that finds nothing to get wrong
// leaves its result as it is.
struct PlanBug {
  // What the planner takes the case for. One that is illegal then is the case.
  void (*asked)(BlockPlanCase* asked) = nullptr;
  void (*plan)(const BlockPlanScene& scene,
               optimized::TilePlan* plan) = nullptr;
  // Of the requested dialect.
  void (*shrunk)(ShrunkTables* tables) = nullptr;
  void (*splash)(const optimized::TilePlan& plan,
                 SplashTables* tables) = nullptr;
  void (*flat)(FlatTables* tables) = nullptr;
  void (*lists)(BlockMaskTables* tables) = nullptr;
  // What the kernel makes of sound tables.
  void (*trace)(const BlockPlanScene& scene, PlanTrace* trace) = nullptr;

  // The stage that a bug of this kind is in.
  constexpr void Set(decltype(asked) bug) { asked = bug; }
  constexpr void Set(decltype(plan) bug) { plan = bug; }
  constexpr void Set(decltype(shrunk) bug) { shrunk = bug; }
  constexpr void Set(decltype(splash) bug) { splash = bug; }
  constexpr void Set(decltype(flat) bug) { flat = bug; }
  constexpr void Set(decltype(lists) bug) { lists = bug; }
  constexpr void Set(decltype(trace) bug) { trace = bug; }
};

// kUnsupported: the dialect cannot say these tables; flat lists, for one, not
// that a query tile without active tiles is written.
RunOutcome PlanWith(const PlanBug& bug, const BlockPlanScene& scene,
                    PlanTrace* trace);
// The scene of the case as something else; none where that is illegal.
std::optional<BlockPlanScene> SceneOf(const BlockPlanScene& scene,
                                      void (*asked)(BlockPlanCase*));

// The class that the mask gives a tile of a head.
optimized::TileClass ClassOf(const IntendedMask& mask,
                             const optimized::TilePlan& plan, int64_t head,
                             int64_t row, int64_t col);

// A tile's class, from its place and its true class.
using TileJudge = std::function<optimized::TileClass(
    int64_t head, int64_t row, int64_t col, optimized::TileClass truth)>;

// The plan with the classes that `judge` gives; a pattern's are those of its
// first head, and blocks are those of the mask.
void Rejudge(const IntendedMask& mask, const TileJudge& judge,
             optimized::TilePlan* plan);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_PLANNER_H_
