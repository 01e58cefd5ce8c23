#include "verify/tables/mutants.h"

#include <span>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/tables/mutants_bugs.h"

namespace lockstep::verify {

std::span<const PlanMutantInfo> PlanMutants() {
  static const std::vector<PlanMutantInfo> kMutants = [] {
    std::vector<PlanMutantInfo> all;
    for (const auto& bugs : {plan_bugs::PlannerBugs(), plan_bugs::TableBugs(),
                             plan_bugs::KernelBugs()}) {
      all.insert(all.end(), bugs.begin(), bugs.end());
    }
    return all;
  }();
  return kMutants;
}

Result<PlanTrial> TryPattern(const PlanMutantInfo& mutant, bool broken) {
  ASSIGN_OR_RETURN(const Case call, ParseBlockPlan(mutant.pattern));
  ASSIGN_OR_RETURN(BlockPlanScene scene, OpenBlockPlan(call, {}));
  PlanTrial trial{{}, scene.mask};
  const RunOutcome outcome =
      PlanWith(broken ? mutant.bug : PlanBug(), scene, &trial.trace);
  if (outcome.state != RunOutcome::State::kRan) {
    return Status::Error(outcome.message);
  }
  return trial;
}

}  // namespace lockstep::verify
