// Few rows against keys and values that lie where the caller has them (decode).
// Compiled once per target, with the functions of attention_kernels-inl.h.
#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimized/attention_direct.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/attention_block-inl.h"
#include "optimized/attention_direct-inl.h"
#include "optimized/attention_direct_values-inl.h"
#include "optimized/attention_kernels-inl.h"
#include "optimized/attention_work.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void PackQueryLanes(const AttentionJob& job, int64_t batch, Worker& worker) {
  WithInputLane(job.problem->query_lane(), [&](auto element) HWY_ATTR {
    PackQueryLanes(job, job.inputs->q.As<decltype(element)>(), batch, worker);
  });
}

int DirectTimesTile(const AttentionJob& job, const RowTile& rows, Range keys,
                    bool masked, Worker& worker) {
  const hn::ScalableTag<float> df;
  Block block;
  block.rows = worker.rows.size();
  block.begin = static_cast<size_t>(keys.end - keys.begin);
  for (const Range& seen : worker.seen) {
    if (seen.end == 0) continue;
    block.begin = std::min(block.begin, static_cast<size_t>(seen.begin));
    block.end = std::max(block.end, static_cast<size_t>(seen.end));
  }
  const Lane lane = job.problem->key_lane();
  WithInputLane(lane, [&](auto element) HWY_ATTR {
    DirectScores<decltype(element)>(df, job, rows, keys, block, worker);
  });
  if (masked) {
    BlockWeights<true>(df, job, block, worker);
  } else {
    BlockWeights<false>(df, job, block, worker);
  }
  bool fixed = true;
  for (const RowState& row : worker.rows) fixed &= row.fixed;
  return WithInputLane(lane, [&](auto element) HWY_ATTR {
    using T = decltype(element);
    DirectValues<T>(job, rows, keys, block, worker);
    return fixed ? PackedTile().v_exponent : ValueExponent<T>(job, rows, keys);
  });
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
