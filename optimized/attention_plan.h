// Whether a plan is one for attention_forward's kernels, and who forms its
// products.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_PLAN_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_PLAN_H_

#include <string>

#include "optimized/plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// Errors: the plan is not one that MakePlan makes for the problem, or wants
// what this CPU does not have.
Status CheckAttentionPlan(const AttentionForwardProblem& problem,
                          const Plan& plan);

// Of order=amx: who forms the products, and if not the matrix unit, why. Empty
// for other orders.
std::string ProductsOf(const Plan& plan);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_PLAN_H_
