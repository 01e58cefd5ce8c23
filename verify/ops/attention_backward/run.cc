// The kernels of this repository on an attention_backward problem.
#include <optional>
#include <string>
#include <vector>

#include "optimized/attention_backward.h"
#include "optimized/plan.h"
#include "reference/attention_backward.h"
#include "verify/base/status_macros.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/ways.h"
#include "verify/ops/attention_forward/work.h"
#include "verify/ops/backends.h"
#include "verify/ops/varlen/token_outputs.h"

namespace lockstep::verify {

RunOutcome AttentionBackwardTrial::RunReference(const OutputSet& outputs,
                                                Execution* execution) const {
  HandBackGiven(outputs);
  return RanReference(reference::AttentionBackward(data_.problem, data_.inputs,
                                                   Gradients(outputs)),
                      execution);
}

RunOutcome AttentionBackwardTrial::RunOptimized(const Variation& how,
                                                const OutputSet& outputs,
                                                Execution* execution) const {
  if (!SupportsTarget(how)) {
    return RunWithoutTarget(*this, how, outputs, execution);
  }
  const Result<optimized::Plan> plan =
      optimized::MakePlan(data_.problem, ToCaps(how));
  if (!plan.ok()) return Failed("no plan: " + plan.message());
  optimized::AttentionBackwardExecution ran;
  const Status status = RunPlan(plan.value(), outputs, &ran);
  if (!status.ok()) return Failed(status.message());
  HandBackGiven(outputs);
  *execution = {.backend = "optimized",
                .target = ran.target,
                .threads = ran.threads,
                .plan = plan->ToString(),
                .fallback_reason = "",
                .counters = {{"tiles_full", ran.tiles_full},
                             {"tiles_partial", ran.tiles_partial},
                             {"tiles_by_pair", ran.tiles_by_pair}}};
  return {};
}

Status AttentionBackwardTrial::RunPlan(
    const optimized::Plan& plan, const OutputSet& outputs,
    optimized::AttentionBackwardExecution* ran) const {
  const AttentionBackwardOutputs own = Gradients(outputs);
  if (!data_.forward.varlen) {
    return optimized::AttentionBackward(data_.problem, data_.inputs, plan, own,
                                        ran);
  }
  if (!tokens().ok()) return tokens().status();
  std::vector<NamedOutput> named = NameOutputs(own);
  ASSIGN_OR_RETURN(const TokenOutputs made, TokenOutputs::Make(*this, &named));
  RETURN_IF_ERROR(optimized::AttentionBackward(
      data_.problem, tokens()->InputsOf(data_), tokens()->rows(), plan,
      {made.Find("dq").view, made.Find("dk").view, made.Find("dv").view,
       own.dsink},
      ran));
  const std::string behind = made.Behind();
  if (!behind.empty()) return Status::Error("wrote " + behind);
  made.Return();
  return {};
}

std::vector<Variation> AttentionBackwardTrial::OptimizedVariations(
    const Variation& fixed) const {
  const AttentionForwardProblem& p = data_.problem.forward;
  return VariationsOf({.threads = {1, 2, 3},
                       .tiles = {{1, 16},
                                 {3, 48},
                                 {7, 16},
                                 {16, 64},
                                 {96, 256},
                                 WholeTile(p.q_len, p.kv_len)}},
                      fixed);
}

std::optional<Work> AttentionBackwardTrial::CountWork() const {
  const AttentionForwardProblem& p = data_.problem.forward;
  const double pairs = VisiblePairs(p, data_.inputs.forward);
  return Work{pairs * static_cast<double>(6 * p.head_dim + 4 * p.value_dim),
              pairs, "visible_pairs", WorkLane::kF32};
}

}  // namespace lockstep::verify
