// block_plan before the judge: tables of a block-sparse kernel against the
// mask of every pair. There are many right tables, so nothing is compared:
// they are lifted to the visits of a kernel, and fourteen invariants decide.
#ifndef LOCKSTEP_VERIFY_OPS_BLOCK_PLAN_H_
#define LOCKSTEP_VERIFY_OPS_BLOCK_PLAN_H_

#include <vector>

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/case.h"
#include "verify/inputs.h"
#include "verify/intended_mask.h"
#include "verify/judge.h"
#include "verify/op.h"
#include "verify/plan_trace.h"

namespace lockstep::verify {

// What a planner is asked, and the mask its tables are judged by.
struct BlockPlanScene {
  BlockPlanCase asked;
  AttentionForwardData data;
  IntendedMask mask;
  Case call;  // that it is the scene of
};

// Time and memory O(pairs * heads). Errors: those of Materialise.
//   Requires: a block_plan case.
Result<BlockPlanScene> OpenBlockPlan(const Case& c,
                                     const MaterialiseOptions& options);

// Our planner and our exporter of the dialect, lifted again. kUnsupported: the
// dialect cannot say these tables (verify/plan_bug.h).
RunOutcome PlanByOptimized(const BlockPlanScene& scene, PlanTrace* trace);

// Classes tile by tile from the mask of every pair, nothing else: what the
// planner is, without its speed.
RunOutcome PlanByReference(const BlockPlanScene& scene, PlanTrace* trace);

// One finding an invariant that does not hold.
CaseResult JudgeBlockPlan(const CaseRequest& request, Candidate& candidate,
                          const JudgeOptions& options);

Result<std::unique_ptr<Trial>> CheckBlockPlan(
    const Case& c, const MaterialiseOptions& options);

inline constexpr Op kBlockPlanOp = {
    "block_plan", [](const Case&) { return std::vector<OutputSpec>(); },
    &CheckBlockPlan,
    [](const Case&, const NumericProfile&) { return std::vector<Case>(); },
    &JudgeBlockPlan};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_BLOCK_PLAN_H_
