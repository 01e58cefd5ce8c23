// The catalogue of bugs of planners, of their tables and of kernels that read
// them; each with the invariant that names it. They are candidates of
// block_plan, and the trial of CheckPlan.
#ifndef LOCKSTEP_VERIFY_TABLES_MUTANTS_H_
#define LOCKSTEP_VERIFY_TABLES_MUTANTS_H_

#include <span>

#include "reference/contract/status.h"
#include "verify/tables/intended_mask.h"
#include "verify/tables/invariants.h"
#include "verify/tables/planner.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

struct PlanMutantInfo {
  // `stages`: the part that errs; each by the arguments of its stage of
  // PlanBug.
  template <typename... Stages>
  constexpr PlanMutantInfo(const char* id, const char* kind, Invariant broken,
                           const char* what, const char* example,
                           Stages*... stages)
      : name(id),
        family(kind),
        invariant(broken),
        breaks(what),
        pattern(example) {
    (bug.Set(stages), ...);
  }

  const char* name;
  const char* family;   // planner tables kernel
  Invariant invariant;  // that does not hold
  const char* breaks;
  // The keys of a small case of block_plan that shows it.
  const char* pattern;
  PlanBug bug;
};
std::span<const PlanMutantInfo> PlanMutants();

// What is judged, and by which mask.
struct PlanTrial {
  PlanTrace trace;
  IntendedMask mask;
};
// The tables of the pattern, with the bug or without it.
Result<PlanTrial> TryPattern(const PlanMutantInfo& mutant, bool broken);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_MUTANTS_H_
