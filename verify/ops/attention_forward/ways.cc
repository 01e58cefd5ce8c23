#include "verify/ops/attention_forward/ways.h"

#include <algorithm>

namespace lockstep::verify {

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
