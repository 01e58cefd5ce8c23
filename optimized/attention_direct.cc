// Few rows against keys and values that lie where the caller has them (decode).
// Compiled once per target, with the functions of attention_kernels-inl.h.
#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimized/attention_direct.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/attention_direct-inl.h"
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
  return WithInputLane(job.problem->key_lane(), [&](auto element) HWY_ATTR {
    using T = decltype(element);
    return masked ? DirectTimesTile<true, T>(df, job, rows, keys, worker)
                  : DirectTimesTile<false, T>(df, job, rows, keys, worker);
  });
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
