#include "verify/ops/attention_forward/work.h"

#include <cstdint>
#include <optional>

#include "optimized/row_keys.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {

double VisiblePairs(const AttentionForwardProblem& p,
                    const AttentionForwardInputs& inputs) {
  const auto maps = static_cast<int64_t>(p.masks.size());
  bool heads_differ = maps > 1;
  for (const auto& dense : inputs.dense_masks) {
    heads_differ |= dense.shape[1] > 1;
  }
  const int64_t heads = heads_differ ? p.q_heads : 1;
  double pairs = 0;
  for (int64_t b = 0; b < p.batch; ++b) {
    optimized::RowKeys keys(p, inputs, b, true);
    for (int64_t h = 0; h < heads; ++h) {
      pairs += static_cast<double>(keys.Select(h).pairs);
    }
  }
  // Heads that see the same keys were counted once.
  return heads_differ ? pairs : pairs * static_cast<double>(p.q_heads);
}

namespace {

WorkLane LaneOf(const AttentionForwardProblem& p) {
  if (p.lane != Lane::kBf16) return WorkLane::kF32;  // f16 is widened
  return p.order == ProductOrder::kAmx ? WorkLane::kBf16Blocks
                                       : WorkLane::kBf16;
}

}  // namespace

std::optional<Work> AttentionForwardTrial::CountWork() const {
  const AttentionForwardProblem& p = data_.problem;
  const double pairs = VisiblePairs(p, data_.inputs);
  return Work{pairs * static_cast<double>(2 * (p.head_dim + p.value_dim)),
              pairs, "visible_pairs", LaneOf(p)};
}

}  // namespace lockstep::verify
