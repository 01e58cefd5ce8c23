// What attention_forward visits: how a problem is cut up, and which of the
// tiles its mask leaves. A value like Plan, made once, used as often as the
// payload stays the same.
#ifndef LOCKSTEP_OPTIMIZED_SPARSE_PLAN_H_
#define LOCKSTEP_OPTIMIZED_SPARSE_PLAN_H_

#include <vector>

#include "optimized/plan.h"
#include "optimized/tile_plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// A plan with the tiles of every batch row. Tiles of queries may have any
// extent; tiles of keys are the plan's own.
struct SparsePlan {
  Plan plan;
  std::vector<TilePlan> tiles;  // [batch]
};

// Tiles of queries as tall as the plan's row tiles, element masks computed.
// Time: PlanTiles, batch rows in parallel.
//   Requires: Validate(problem, inputs, ...).ok(), plan from MakePlan.
Result<SparsePlan> MakeSparsePlan(const AttentionForwardProblem& problem,
                                  const AttentionForwardInputs& inputs,
                                  const Plan& plan);

// Whether a kernel can follow it without reading out of range: extents, heads,
// indices, blocks, ids accounted for. Not whether the tiles are those of the
// mask: that is `CheckPlan` of verify. Time O(active tiles).
Status CheckSparsePlan(const AttentionForwardProblem& problem,
                       const SparsePlan& sparse);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_SPARSE_PLAN_H_
