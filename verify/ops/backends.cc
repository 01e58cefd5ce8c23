#include "verify/ops/backends.h"

#include <algorithm>
#include <vector>

#include "optimized/plan.h"

namespace lockstep::verify {

RunOutcome Failed(const std::string& message) {
  return {RunOutcome::State::kError, message, ""};
}

RunOutcome RanReference(const Status& status, Execution* execution) {
  if (!status.ok()) return Failed(status.message());
  *execution = Execution{};
  execution->backend = "reference";
  execution->threads = 1;
  return {};
}

RunOutcome RunOwnKernel(const Trial& trial, const Variation& how,
                        const OutputSet& outputs, Execution* execution) {
  const char* const added = LaneName(Lane::kAdded);
  const auto is_added = [&](const auto& scalar) {
    return scalar.second == ScalarValue(std::string(added));
  };
  if (added != nullptr) {
    const KernelInputs inputs = trial.Inputs();
    if (std::any_of(inputs.scalars.begin(), inputs.scalars.end(), is_added)) {
      const RunOutcome ran = trial.kernels().RunReference(outputs, execution);
      execution->fallback_reason = std::string("no kernel has lane ") + added;
      return ran;
    }
  }
  return trial.kernels().RunOptimized(how, outputs, execution);
}

bool SupportsTarget(const Variation& how) {
  const std::vector<optimized::Target> targets = optimized::Targets();
  return std::any_of(targets.begin(), targets.end(), [&](const auto& target) {
    return target.supported && (!how.target || *how.target == target.name);
  });
}

RunOutcome RunWithoutTarget(const Trial& trial, const Variation& how,
                            const OutputSet& outputs, Execution* execution) {
  if (how.target) {
    return {RunOutcome::State::kUnsupported,
            "this CPU does not support target " + *how.target, ""};
  }
  const RunOutcome outcome = trial.kernels().RunReference(outputs, execution);
  execution->fallback_reason = "this CPU supports no compiled SIMD target";
  return outcome;
}

}  // namespace lockstep::verify
