// The end of a row whose state is wanted in place of its outputs (N24). It
// takes the fast sums if the guard holds, or those of two passes.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_STATES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_STATES_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_STATES_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_STATES_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "optimized/attention_finish-inl.h"
#include "optimized/attention_kernels-inl.h"
#include "optimized/attention_work.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `l` is the sum of the row's weights.
template <class D>
void KeepState(D df, const AttentionJob& job, int64_t batch, size_t index,
               float l, Worker& worker) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const RowState& row = worker.rows[index];
  const auto values = static_cast<size_t>(job.padded_values);
  float* acc = worker.acc.data() + index * values;
  if (!row.visible) {
    ++worker.counts.rows_empty;
    std::fill_n(acc, values, 0.0f);
    return StoreState(job, batch, row, -kInfinity, -kInfinity, acc);
  }
  const bool sums_ok =
      std::isfinite(l) && l > 0.0f && AllFinite(df, acc, values);
  const bool sink_ok = !job.problem->sink || row.sink < kInfinity;
  const bool usual = job.states->size == WeightSize::kUsual;
  if (!(sums_ok && sink_ok && usual) || row.letter) {
    ++worker.counts.rows_redone;
    return ExactState(job, batch, row, acc, worker);
  }
  worker.counts.rows_fixed += row.fixed;
  worker.counts.rows_online += !row.fixed && !row.redo;
  worker.counts.rows_redone += row.redo;
  StoreState(job, batch, row, row.m, l, acc);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
