// The end of a row: decide whether its fast sums stand, and write it (N11-N13).
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_FINISH_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_FINISH_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_FINISH_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_FINISH_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "optimized/attention_kernels-inl.h"
#include "optimized/attention_store-inl.h"
#include "optimized/attention_work.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE bool AllFinite(D df, const float* HWY_RESTRICT x, size_t count) {
  for (size_t c = 0; c < count; c += hn::Lanes(df)) {
    if (!hn::AllTrue(df, hn::IsFinite(hn::Load(df, x + c)))) return false;
  }
  return true;
}

// `l`: the sum of the row's weights, without the sink's.
template <class D>
void FinishRow(D df, const AttentionJob& job, int64_t batch, size_t index,
               float l, Worker& worker) {
  const hn::CappedTag<float, 1> d1;
  const RowState& row = worker.rows[index];
  const auto values = static_cast<size_t>(job.padded_values);
  float* acc = worker.acc.data() + index * values;
  const bool sink = job.problem->sink;
  // N12: an empty row is its sink's weight alone, relative to itself.
  const bool fixed = row.fixed && row.visible;
  const float m =
      row.visible ? row.m : (sink ? std::nearbyint(row.sink) : 0.0f);
  const float shift = fixed ? 0.0f : kWeightShift;
  if (sink) l += ScalarWeight(d1, row.sink, m, shift);
  const bool sink_ok =
      !sink || row.sink < std::numeric_limits<float>::infinity();
  // An empty row reads no sums: masked V may have left anything in acc (N8).
  const bool sums_ok = !row.visible || (std::isfinite(l) && l > 0.0f &&
                                        AllFinite(df, acc, values));
  if (!sink_ok || !sums_ok || (row.letter && row.visible)) {
    ++worker.counts.rows_redone;
    return ExactRow(job, batch, row, acc, worker);
  }
  worker.counts.rows_empty += !row.visible;
  worker.counts.rows_fixed += fixed;
  worker.counts.rows_online += row.visible && !fixed && !row.redo;
  worker.counts.rows_redone += row.redo;
  if (row.visible) {
    Normalise(df, job, batch, row, l, acc);
  } else {
    for (size_t c = 0; c < values; ++c) acc[c] = 0.0f;
  }
  StoreRow(job, batch, row, acc, LogSumExp(d1, l, m, shift));
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
