// Checks whether attention_forward's kernels can run a plan, and names the unit
// that forms its products.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_PLAN_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_PLAN_H_

#include <string>

#include "optimized/plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// Errors: MakePlan does not make this plan for the problem, or this CPU lacks
// what the plan needs.
Status CheckAttentionPlan(const AttentionForwardProblem& problem,
                          const Plan& plan);

// For order=amx: the unit that forms the products, and, if it is not the matrix
// unit, the reason. Empty for other orders.
std::string ProductsOf(const Plan& plan);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_PLAN_H_
