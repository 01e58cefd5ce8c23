#include "verify/ops/kernels.h"

namespace lockstep::verify {

std::string Variation::Suffix() const {
  std::string text;
  if (target) text += "@" + *target;
  if (tile) {
    text += ",tile=" + std::to_string(tile->first) + "x" +
            std::to_string(tile->second);
  }
  if (threads) text += ",threads=" + std::to_string(*threads);
  if (native_dot) text += *native_dot ? ",native=1" : ",native=0";
  if (chunk) text += ",chunk=" + std::to_string(*chunk);
  if (splits) text += ",splits=" + std::to_string(*splits);
  if (shift != 0) text += ",shift=" + std::to_string(shift);
  return text;
}

int64_t Execution::Count(const std::string& name) const {
  for (const Counter& counter : counters) {
    if (counter.name == name) return counter.value;
  }
  return 0;
}

RunOutcome TrialKernels::RunReference(const OutputSet&, Execution*) const {
  return {RunOutcome::State::kUnsupported, "this op has no kernel of ours", ""};
}

RunOutcome TrialKernels::RunOptimized(const Variation&,
                                      const OutputSet& outputs,
                                      Execution* execution) const {
  const RunOutcome outcome = RunReference(outputs, execution);
  execution->backend = "reference";
  execution->fallback_reason = "this op has no optimized path";
  return outcome;
}

void TrialKernels::RunBaseline(const OutputSet& outputs) const {
  Execution execution;
  RunReference(outputs, &execution);
}

}  // namespace lockstep::verify
