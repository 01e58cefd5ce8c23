// The kernels of this repository on an attention_backward problem.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optimized/attention_backward.h"
#include "optimized/plan.h"
#include "optimized/row_keys.h"
#include "reference/attention_backward.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/ways.h"

namespace lockstep::verify {
namespace {

RunOutcome Failed(const std::string& message) {
  return {RunOutcome::State::kError, message, ""};
}

}  // namespace

RunOutcome AttentionBackwardTrial::RunReference(const OutputSet& outputs,
                                                Execution* execution) const {
  const Status done = reference::AttentionBackward(data_.problem, data_.inputs,
                                                   BackwardViews(outputs));
  if (!done.ok()) return Failed(done.message());
  *execution = Execution{};
  execution->backend = "reference";
  execution->threads = 1;
  return {};
}

RunOutcome AttentionBackwardTrial::RunOptimized(const Variation& how,
                                                const OutputSet& outputs,
                                                Execution* execution) const {
  if (RunningTargets(how).empty()) {
    if (how.target) {
      return {RunOutcome::State::kUnsupported,
              "this CPU does not support target " + *how.target, ""};
    }
    const RunOutcome outcome = RunReference(outputs, execution);
    execution->fallback_reason = "this CPU supports no compiled SIMD target";
    return outcome;
  }
  const Result<optimized::Plan> plan =
      optimized::MakePlan(data_.problem, ToCaps(how));
  if (!plan.ok()) return Failed("no plan: " + plan.message());
  optimized::AttentionBackwardExecution ran;
  const Status status = optimized::AttentionBackward(
      data_.problem, data_.inputs, plan.value(), BackwardViews(outputs), &ran);
  if (!status.ok()) return Failed(status.message());
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
  double pairs = 0;
  for (int64_t b = 0; b < p.batch; ++b) {
    optimized::RowKeys keys(p, data_.inputs.forward, b, true);
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        for (const optimized::Range& range : keys.Visible(h, i)) {
          pairs += static_cast<double>(range.end - range.begin);
        }
      }
    }
  }
  return Work{pairs * static_cast<double>(6 * p.head_dim + 4 * p.value_dim),
              pairs, "visible_pairs", WorkLane::kF32};
}

}  // namespace lockstep::verify
