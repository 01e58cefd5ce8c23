// The task of a planner, and the two planners of our own.
#ifndef LOCKSTEP_VERIFY_TABLES_SCENE_H_
#define LOCKSTEP_VERIFY_TABLES_SCENE_H_

#include "reference/contract/status.h"
#include "verify/base/run_outcome.h"
#include "verify/case/block_plan.h"
#include "verify/case/case.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/named_tensor.h"
#include "verify/tables/intended_mask.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

// The task of a planner, and the mask by which its tables are judged.
struct BlockPlanScene {
  BlockPlanCase asked;
  AttentionForwardData data;
  IntendedMask mask;
  Case call;  // that it is the scene of
};

// Time and memory O(PlacesToAsk). Errors: those of Materialise; more than
// kMaxPlanPlaces.
//   Requires: a block_plan case.
Result<BlockPlanScene> OpenBlockPlan(const Case& c,
                                     const MaterialiseOptions& options);

// Adds the input `mask`, u8 [heads, q_len, kv_len], 1 where visible; not where
// it had more than kMaxPlanPlaces elements.
void AddMaskTensor(const BlockPlanScene& scene, KernelInputs* inputs);

// Our planner and our exporter of the dialect, lifted again. kUnsupported: the
// dialect cannot say these tables (verify/tables/planner.h).
RunOutcome PlanByOptimized(const BlockPlanScene& scene, PlanTrace* trace);

// Classes tile by tile, from the pairs that the mask shows alone: the planner
// without its speed.
RunOutcome PlanByReference(const BlockPlanScene& scene, PlanTrace* trace);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_SCENE_H_
