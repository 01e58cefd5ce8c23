// Small masks with their plans, sound or bent tile by tile: what the planted
// defects of the plan checker are made of.
#ifndef LOCKSTEP_VERIFY_PLAN_SCENE_H_
#define LOCKSTEP_VERIFY_PLAN_SCENE_H_

#include <cstdint>
#include <functional>

#include "optimized/tile_grid.h"
#include "optimized/tile_plan.h"
#include "verify/intended_mask.h"

namespace lockstep::verify {

struct PlanScene {
  IntendedMask mask;
  optimized::TilePlan plan;
};

using PairVisible = std::function<bool(int64_t head, int64_t i, int64_t j)>;

// Any mask, planned without a fault.
PlanScene MakeScene(const optimized::TileGrid& grid, int64_t heads,
                    const PairVisible& visible,
                    optimized::TileOptions options = {});

// A tile's class, from its place and its true class.
using TileJudge = std::function<optimized::TileClass(
    int64_t row, int64_t col, optimized::TileClass truth)>;

// The scene's plan with the classes of head 0 that `judge` gives; blocks are
// those of the mask. Requires: one head.
optimized::TilePlan Judged(const PlanScene& scene, const TileJudge& judge);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PLAN_SCENE_H_
