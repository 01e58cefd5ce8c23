#include "optimized/plan_check.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "optimized/plan.h"
#include "optimized/simd/targets.h"
#include "optimized/sparse_plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

// CPUID costs tens of microseconds where a hypervisor answers it: once.
bool IsSupported(int64_t target_bit) {
  static const int64_t kSupported = hwy::SupportedTargets();
  return (kSupported & target_bit) != 0;
}

Status CheckPlanFits(const AttentionForwardProblem& problem, const Plan& plan) {
  if (!IsSupported(TargetBit(plan.target))) {
    return Status::Error("target " + plan.target +
                         " is not supported by this CPU");
  }
  if (plan.tile_rows < 1 || plan.tile_keys < 1 ||
      plan.tile_rows > kMaxLength * kMaxHeads || plan.tile_keys > kMaxLength ||
      plan.tile_keys % kStripes != 0 ||
      plan.row_tiles !=
          CeilDiv(problem.group() * problem.q_len, plan.tile_rows) ||
      plan.key_tiles != CeilDiv(problem.kv_len, plan.tile_keys)) {
    return Status::Error("the plan does not cover the problem: " +
                         plan.ToString());
  }
  if (plan.threads < 1 || plan.threads > kMaxThreads) {
    return Status::Error("no team of " + std::to_string(plan.threads) +
                         " threads; want 1.." + std::to_string(kMaxThreads));
  }
  return Status();
}

AttentionForwardProblem AskedOf(const AttentionForwardProblem& problem,
                                const SparsePlan& sparse) {
  AttentionForwardProblem asked = problem;
  const bool stored =
      std::all_of(sparse.tiles.begin(), sparse.tiles.end(),
                  [](const TilePlan& tiles) { return tiles.options.blocks; });
  if (stored) asked.masks = {MaskExpr{}};
  return asked;
}

}  // namespace lockstep::optimized
