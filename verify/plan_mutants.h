// The catalogue of bugs of planners, of their tables and of kernels that read
// them; each with the invariant that names it. It serves the trial of
// CheckPlan and `lockstep list mutants`.
#ifndef LOCKSTEP_VERIFY_PLAN_MUTANTS_H_
#define LOCKSTEP_VERIFY_PLAN_MUTANTS_H_

#include <span>

#include "verify/intended_mask.h"
#include "verify/plan_invariants.h"
#include "verify/plan_trace.h"

namespace lockstep::verify {

// What is judged, and by which mask.
struct PlanTrial {
  PlanTrace trace;
  IntendedMask mask;
};

struct PlanMutantInfo {
  const char* name;
  const char* family;   // planner tables kernel
  Invariant invariant;  // that does not hold
  const char* breaks;
  // The smallest case that shows it; the same without the bug if not `broken`.
  PlanTrial (*trial)(bool broken);
  // The case of block_plan that it is.
  const char* pattern;
};
std::span<const PlanMutantInfo> PlanMutants();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PLAN_MUTANTS_H_
