// The bugs of the plan mutants, by the part that makes the mistake: a planner,
// tables, a kernel. Each answers any case, and leaves alone what it does not
// get wrong.
#ifndef LOCKSTEP_VERIFY_TABLES_MUTANTS_BUGS_H_
#define LOCKSTEP_VERIFY_TABLES_MUTANTS_BUGS_H_

#include <span>

#include "optimized/tile_plan.h"
#include "verify/case/block_plan.h"
#include "verify/case/case.h"
#include "verify/tables/mutants.h"
#include "verify/tables/planner.h"
#include "verify/tables/trace.h"

namespace lockstep::verify::plan_bugs {

using optimized::TilePlan;
using Scene = BlockPlanScene;

// Planners: classes, blocks and patterns.
std::span<const PlanMutantInfo> PlannerBugs();
// Tables: made, narrowed, cached or cut wrongly.
std::span<const PlanMutantInfo> TableBugs();
// Kernels that read sound tables wrongly.
std::span<const PlanMutantInfo> KernelBugs();

}  // namespace lockstep::verify::plan_bugs

#endif  // LOCKSTEP_VERIFY_TABLES_MUTANTS_BUGS_H_
