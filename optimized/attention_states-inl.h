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
#include "optimized/attention_exact-inl.h"
#include "optimized/attention_finish-inl.h"
#include "optimized/attention_work.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Writes the state of a row; NaN is canonical, and m is never -0. acc is
// [value_dim].
inline void StoreState(const AttentionJob& job, int64_t batch,
                       const RowState& row, float m, float l,
                       const float* acc) {
  const AttentionStates& to = job.states->to;
  const auto canonical = [](float x) {
    return std::isnan(x) ? std::bit_cast<float>(kCanonicalNaNBits) : x;
  };
  to.m(batch, row.head, row.query) = canonical(m) + 0.0f;
  to.l(batch, row.head, row.query) = canonical(l);
  for (int64_t c = 0; c < job.problem->value_dim; ++c) {
    to.acc(batch, row.head, row.query, c) = canonical(acc[c]);
  }
}

// Computes the state as the contract states it. Requires: a visible key.
template <class D1>
void ExactState(D1 d1, const AttentionJob& job, int64_t batch,
                const RowState& row, float* acc, Worker& worker) {
  const Range keys{0, job.problem->kv_len};
  ReadRow(d1, job, batch, row, worker);
  const ExactMaximum max = FindMaximum(job, row, keys, worker);
  const bool small = job.states->size == WeightSize::kSmall;
  const bool fixed = row.fixed && !small;
  const ExactPart part{keys, fixed ? 0.0f : max.m,
                       small   ? kRedoShift
                       : fixed ? 0.0f
                               : kWeightShift};
  float m = part.m;
  float l = ExactSum(d1, part, worker);
  ExactValues(d1, job, batch, row, part, worker, acc);
  // Scores of -inf alone also make a state: other parts may have finite scores.
  if (max.bad) {
    m = l = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(acc, job.problem->value_dim, m);
  }
  StoreState(job, batch, row, m, l, acc);
}

// `l` is the sum of the row's weights.
template <class D>
void KeepState(D df, const AttentionJob& job, int64_t batch, size_t index,
               float l, Worker& worker) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const hn::CappedTag<float, 1> d1;
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
    return ExactState(d1, job, batch, row, acc, worker);
  }
  worker.counts.rows_fixed += row.fixed;
  worker.counts.rows_online += !row.fixed && !row.redo;
  worker.counts.rows_redone += row.redo;
  StoreState(job, batch, row, row.m, l, acc);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
