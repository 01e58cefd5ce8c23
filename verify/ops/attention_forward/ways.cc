#include "verify/ops/attention_forward/ways.h"

#include <algorithm>

#include "verify/ops/backends.h"

namespace lockstep::verify {
namespace {

std::vector<Counter> Counters(
    const optimized::AttentionForwardExecution& execution) {
  return {{"tiles_empty", execution.tiles_empty},
          {"tiles_full", execution.tiles_full},
          {"tiles_partial", execution.tiles_partial},
          {"tiles_native_dot", execution.tiles_native_dot},
          {"tiles_matrix", execution.tiles_matrix},
          {"tiles_in_place", execution.tiles_in_place},
          {"rows_fixed", execution.rows_fixed},
          {"rows_online", execution.rows_online},
          {"rows_redone", execution.rows_redone},
          {"rows_empty", execution.rows_empty}};
}

}  // namespace

optimized::Caps ToCaps(const Variation& how) {
  optimized::Caps caps;
  if (how.target) caps.target = *how.target;
  if (how.threads) caps.threads = *how.threads;
  if (how.tile) {
    caps.tile_rows = how.tile->first;
    caps.tile_keys = how.tile->second;
  }
  if (how.native_dot) caps.native_dot = *how.native_dot;
  return caps;
}

std::string WhyNoKernel(const AttentionForwardProblem& problem) {
  if (StepOf(problem.order) == nullptr) return "";
  return std::string("no SIMD kernel has order=") + OrderName(problem.order);
}

RunOutcome RunPlanned(
    const Trial& trial, const AttentionForwardProblem& problem,
    const Variation& how, const OutputSet& outputs, Execution* execution,
    const std::function<Status(const optimized::Plan&,
                               optimized::AttentionForwardExecution*)>& run) {
  if (const std::string why = WhyNoKernel(problem); !why.empty()) {
    const RunOutcome outcome = trial.kernels().RunReference(outputs, execution);
    execution->fallback_reason = why;
    return outcome;
  }
  if (!SupportsTarget(how)) {
    return RunWithoutTarget(trial, how, outputs, execution);
  }
  const Result<optimized::Plan> plan =
      optimized::MakePlan(problem, ToCaps(how));
  if (!plan.ok()) return Failed("no plan: " + plan.message());
  optimized::AttentionForwardExecution counts;
  const Status status = run(plan.value(), &counts);
  if (!status.ok()) return Failed(status.message());
  *execution = {.backend = "optimized",
                .target = counts.target,
                .threads = counts.threads,
                .plan = plan->ToString(),
                .fallback_reason = "",
                .products = counts.products,
                .counters = Counters(counts)};
  return {};
}

std::vector<std::string> RunningTargets(const Variation& how) {
  std::vector<std::string> names;
  for (const optimized::Target& target : optimized::Targets()) {
    if (!target.supported) continue;
    if (how.target && *how.target != target.name) continue;
    names.push_back(target.name);
  }
  return names;
}

std::pair<int64_t, int64_t> WholeTile(int64_t rows, int64_t keys) {
  const int64_t all_keys = (keys + 15) / 16 * 16;
  return {std::min<int64_t>(rows, 129), std::min<int64_t>(all_keys, 1024)};
}

std::vector<Variation> VariationsOf(AttentionWays ways,
                                    const Variation& fixed) {
  const std::vector<std::string> targets = RunningTargets(fixed);
  std::vector<Variation> variations;
  if (targets.empty()) return variations;
  const auto add = [&](const char* check, auto&& change) {
    Variation how = fixed;
    how.check = check;
    change(how);
    variations.push_back(std::move(how));
  };
  if (fixed.threads) ways.threads = {*fixed.threads};
  if (fixed.tile) ways.tiles = {*fixed.tile};
  for (const std::string& target : targets) {
    if (fixed.target) break;
    add("targets", [&](Variation& how) { how.target = target; });
  }
  for (const int n : ways.threads) {
    if (fixed.threads) break;
    add("threads", [&](Variation& how) { how.threads = n; });
  }
  if (ways.native_dot) {
    for (const bool native : {false, true}) {
      add("native_dot", [&](Variation& how) { how.native_dot = native; });
    }
  }
  for (const auto& tile : ways.tiles) {
    if (fixed.tile) break;
    add("tiles", [&](Variation& how) { how.tile = tile; });
  }
  // The product; alignment changes from one to the next, and native dot so that
  // every target and number of threads meets both.
  int64_t n = 0;
  bool native = false;
  for (const auto& tile : ways.tiles) {
    native = !native;
    for (const int count : ways.threads) {
      native = !native;
      for (const std::string& target : targets) {
        ++n;
        native = !native;
        add("combined", [&](Variation& how) {
          how.target = target;
          how.tile = tile;
          how.threads = count;
          if (ways.native_dot) how.native_dot = native;
          if (n % 3 != 0) how.shift = kShifts[n % 3 - 1];
        });
      }
    }
  }
  return variations;
}

}  // namespace lockstep::verify
