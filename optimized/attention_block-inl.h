// Scores of a block of rows against one tile of keys -> weights.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_BLOCK_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_BLOCK_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_BLOCK_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_BLOCK_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/attention_weights-inl.h"
#include "optimized/attention_work.h"
#include "optimized/simd/packed_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Words of one row's bits of one tile; one more than needed, because vector
// loads of mask bits read eight bytes.
inline size_t BitWords(const AttentionJob& job) {
  return static_cast<size_t>(CeilDiv(job.padded_keys, 64) + 1);
}

// Dots of one row of one tile -> u; sums so far follow a larger maximum.
template <bool kMasked, class D>
HWY_INLINE void RowScores(D df, const AttentionJob& job, const RowSlice& slice,
                          float* acc, RowState& row) {
  if (slice.key_scales != nullptr) ScaleDots(df, slice);
  if (job.problem->q_scales.by_key()) ScaleDotsBy(df, row.scale, slice);
  const ScoreScale& scale = job.ScaleOf(row.head);
  if (row.fixed) return FixedScores(df, scale, slice);
  const Extremes n = OnlineScores<kMasked>(df, scale, slice);
  row.n_min = std::min(row.n_min, n.min);
  if (n.max > row.m) {
    ScaleDown(df, row.m - n.max, acc, static_cast<size_t>(job.padded_values));
    ScaleDown(df, row.m - n.max, slice.stripes, kStripes);
    row.m = n.max;
  }
}

// u of one row of one tile -> weights.
template <bool kMasked, class D>
HWY_INLINE void RowWeights(D df, const RowSlice& slice, const RowState& row) {
  if (row.fixed) return NearWeights<kMasked>(df, 0, slice);
  if (NearWeightsAreExact(row.n_min, row.m)) {
    return NearWeights<kMasked>(df, static_cast<int>(kWeightShift - row.m),
                                slice);
  }
  OnlineWeights(df, row.m, slice);
}

// Row r of the block.
template <bool kMasked>
inline RowSlice SliceOf(const AttentionJob& job, const Block& block, size_t r,
                        Worker& worker) {
  const size_t row = block.first_row + r;
  RowSlice slice;
  slice.weights =
      worker.weights.data() +
      (block.weight_row + r) * static_cast<size_t>(job.weight_stride);
  slice.stripes = &worker.stripes[row * kStripes];
  const auto step = static_cast<size_t>(job.key_step());
  slice.begin = block.begin / step * step;
  slice.end = (block.end + step - 1) / step * step;
  slice.p_lane = job.problem->p_lane;
  if (job.problem->k_scales.by_key()) {
    slice.key_scales = worker.key_scales.data();
  }
  if (job.problem->v_scales.by_key()) {
    slice.value_scales = worker.value_scales.data();
    slice.p_lane = Lane::kF32;  // ScaleWeights rounds
  }
  if constexpr (kMasked) {
    slice.bits =
        reinterpret_cast<const uint8_t*>(&worker.bits[row * BitWords(job)]);
  }
  return slice;
}

// Scores -> weights; as pairs too, if values are. All rows' u first: a row's
// weights need its maximum, and the other rows fill the wait for it.
template <bool kMasked, class D>
void BlockWeights(D df, const AttentionJob& job, const Block& block,
                  Worker& worker) {
  const auto values = static_cast<size_t>(job.padded_values);
  for (size_t r = 0; r < block.rows; ++r) {
    const size_t row = block.first_row + r;
    RowScores<kMasked>(df, job, SliceOf<kMasked>(job, block, r, worker),
                       worker.acc.data() + row * values, worker.rows[row]);
  }
  for (size_t r = 0; r < block.rows; ++r) {
    const RowSlice slice = SliceOf<kMasked>(job, block, r, worker);
    RowWeights<kMasked>(df, slice, worker.rows[block.first_row + r]);
    if (slice.value_scales != nullptr) {
      ScaleWeights(df, job.problem->p_lane, slice);
    }
    if (!job.value_pairs()) continue;
    PackPairs(df, slice.weights, slice.begin, slice.end,
              worker.weight_pairs.data() +
                  (block.weight_row + r) *
                      static_cast<size_t>(job.weight_stride) / 2);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
