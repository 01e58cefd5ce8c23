// What wrong tables may come from: bugs of planners, and of kernels that read
// their tables.
#ifndef LOCKSTEP_VERIFY_CAUSES_BLOCK_PLAN_H_
#define LOCKSTEP_VERIFY_CAUSES_BLOCK_PLAN_H_

#include <cstddef>
#include <vector>

#include "verify/causes/explanation.h"
#include "verify/tables/scene.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

// Best first; bugs that make the same tables here are alike.
std::vector<Explanation> CausesOfTables(const BlockPlanScene& scene,
                                        const PlanTrace& produced,
                                        size_t most = 3);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CAUSES_BLOCK_PLAN_H_
