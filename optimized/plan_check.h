// What every attention kernel requires of a plan that a caller hands in.
#ifndef LOCKSTEP_OPTIMIZED_PLAN_CHECK_H_
#define LOCKSTEP_OPTIMIZED_PLAN_CHECK_H_

#include <cstdint>

#include "optimized/plan.h"
#include "optimized/sparse_plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// Whether this CPU runs the compiled target.
bool IsSupported(int64_t target_bit);

// Errors: the plan's target is not supported here, its tiles are not those of
// the problem's extents, or there can be no such team of threads.
Status CheckPlanFits(const AttentionForwardProblem& problem, const Plan& plan);

// The problem without the masks that are not read: where tiles hold their
// element masks, they are the mask.
AttentionForwardProblem AskedOf(const AttentionForwardProblem& problem,
                                const SparsePlan& sparse);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_PLAN_CHECK_H_
