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

namespace lockstep::verify {
namespace {

optimized::Caps ToCaps(const Variation& how) {
  optimized::Caps caps;
  if (how.target) caps.target = *how.target;
  if (how.threads) caps.threads = *how.threads;
  if (how.tile) {
    caps.tile_rows = how.tile->first;
    caps.tile_keys = how.tile->second;
  }
  return caps;
}

std::vector<std::string> RunningTargets(const Variation& fixed) {
  std::vector<std::string> names;
  for (const optimized::Target& target : optimized::Targets()) {
    if (!target.supported) continue;
    if (fixed.target && *fixed.target != target.name) continue;
    names.push_back(target.name);
  }
  return names;
}

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
  const std::vector<std::string> targets = RunningTargets(fixed);
  std::vector<Variation> variations;
  const auto add = [&](const char* check, auto&& change) {
    Variation how = fixed;
    how.check = check;
    change(how);
    variations.push_back(std::move(how));
  };
  std::vector<int> threads = {1, 2, 3};
  if (fixed.threads) threads = {*fixed.threads};
  const int64_t all_keys = (p.kv_len + 15) / 16 * 16;
  std::vector<std::pair<int64_t, int64_t>> tiles = {
      {1, 16},
      {3, 48},
      {7, 16},
      {16, 64},
      {96, 256},
      {std::min<int64_t>(p.q_len, 129), std::min<int64_t>(all_keys, 1024)}};
  if (fixed.tile) tiles = {*fixed.tile};
  for (const std::string& target : targets) {
    if (fixed.target) break;
    add("targets", [&](Variation& how) { how.target = target; });
  }
  for (const int n : threads) {
    if (fixed.threads) break;
    add("threads", [&](Variation& how) { how.threads = n; });
  }
  for (const auto& tile : tiles) {
    if (fixed.tile) break;
    add("tiles", [&](Variation& how) { how.tile = tile; });
  }
  int64_t n = 0;
  for (const auto& tile : tiles) {
    for (const int count : threads) {
      for (const std::string& target : targets) {
        ++n;
        add("combined", [&](Variation& how) {
          how.target = target;
          how.tile = tile;
          how.threads = count;
          if (n % 3 != 0) how.shift = kShifts[n % 3 - 1];
        });
      }
    }
  }
  return variations;
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
