// One block of rows against one tile of keys: scores, weights, values.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_BLOCK_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_BLOCK_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_BLOCK_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_BLOCK_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hwy/highway.h"
#include "optimized/attention_blocks-inl.h"
#include "optimized/attention_matrix-inl.h"
#include "optimized/attention_steps-inl.h"
#include "optimized/attention_tiles-inl.h"
#include "optimized/attention_weights-inl.h"
#include "optimized/attention_work.h"
#include "optimized/simd/packed_dot-inl.h"
#include "optimized/simd/registers-inl.h"

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

// How a tile's products are formed (N5): by the dot instruction, or on pairs
// of bf16 without it.
struct DotForm {
  bool native_scores = false;
  bool native_values = false;
};

// Lines to prefetch of each tensor with a panel. A worker that packs nothing
// has 0, because a test for it cost 1 % of the time of dense masks on AVX2. 256
// rows and keys of a document have about 700 panels of 16 in their lower half
// (d = 128), and 512 portions of keys in f32.
inline int64_t PortionsOf(size_t panel, const Worker& worker) {
  if (worker.kept.empty()) return 0;
  return CeilDiv(static_cast<int64_t>(panel), 16);
}

// Scores of the block's rows into worker.weights; q and k as Dot has them.
template <class Dot, class D>
void BlockScores(D df, const AttentionJob& job, const typename Dot::T* q,
                 const typename Dot::T* k, size_t steps, const Block& block,
                 Worker& worker) {
  const auto panel = static_cast<size_t>(job.geometry.panel());
  const auto stride = static_cast<size_t>(job.weight_stride);
  float* weights = worker.weights.data();
  q += block.first_row * steps;
  const int64_t portions = PortionsOf(panel, worker);
  WithRows(static_cast<int64_t>(block.rows), [&]<int kRows>() HWY_ATTR {
    for (size_t key = block.begin / panel * panel; key < block.end;
         key += panel) {
      if (portions > 0) worker.ahead.Ask(portions);
      const typename Dot::T* keys = k + key * steps;
      // Of the last panel half is enough if no row sees more: the other scores
      // are masked, or behind the slice, whatever stands there.
      if (block.end - key > panel / 2) {
        ScorePanel<Dot, kRows, 2>(df, q, keys, steps, weights + key, stride);
      } else {
        ScorePanel<Dot, kRows, 1>(df, q, keys, steps, weights + key, stride);
      }
    }
  });
}

template <class D>
void BlockScores(D df, const AttentionJob& job, const PackedTile& tile,
                 const Block& block, bool native, Worker& worker) {
  const auto pairs = static_cast<size_t>(job.head_pairs());
  if (job.steps()) {
    StepScores(df, job, tile, block, worker);
  } else if (job.plan->blocks != BlockForm::kNone) {
    EmulatedScores(df, job, tile, block, worker);
  } else if (!job.key_pairs()) {
    BlockScores<F32Dot>(df, job, worker.q.data(), tile.k,
                        static_cast<size_t>(job.problem->head_dim), block,
                        worker);
  } else if (native) {
    BlockScores<PairDot<true>>(df, job, worker.q_pairs.data(), tile.k_pairs,
                               pairs, block, worker);
  } else {
    BlockScores<PairDot<false>>(df, job, worker.q_pairs.data(), tile.k_pairs,
                                pairs, block, worker);
  }
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

// Weights times values, panel by panel; p and v as Dot has them, p from key
// 0 of the tile on. `per_step`: keys of a step.
template <class Dot, class D>
void BlockValues(D df, const AttentionJob& job, const typename Dot::T* p,
                 const typename Dot::T* v, size_t per_step, const Block& block,
                 Worker& worker) {
  const size_t lanes = hn::Lanes(df);
  const size_t panel = 2 * lanes;
  const auto values = static_cast<size_t>(job.padded_values);
  const size_t p_stride = static_cast<size_t>(job.weight_stride) / per_step;
  const size_t tile_steps = static_cast<size_t>(job.plan->tile_keys) / per_step;
  // Whole steps: a neighbour that no row sees has weight +0.
  const size_t begin = block.begin / per_step;
  const size_t steps = (block.end + per_step - 1) / per_step - begin;
  float* acc = worker.acc.data() + block.first_row * values;
  const int64_t portions = PortionsOf(panel, worker);
  WithRows(static_cast<int64_t>(block.rows), [&]<int kRows>() HWY_ATTR {
    for (size_t c = 0; c < values; c += panel) {
      if (portions > 0) worker.ahead.Ask(portions);
      const size_t width = std::min(panel, values - c);
      const typename Dot::T* from = v + c * tile_steps + begin * width;
      if (width == panel) {
        ValuePanel<Dot, kRows, 2>(df, p + begin, p_stride, from, 2 * lanes,
                                  steps, acc + c, values);
      } else {
        ValuePanel<Dot, kRows, 1>(df, p + begin, p_stride, from, lanes, steps,
                                  acc + c, values);
      }
    }
  });
}

template <class D>
void BlockValues(D df, const AttentionJob& job, const PackedTile& tile,
                 const Block& block, bool native, Worker& worker) {
  if (job.steps()) {
    StepValues(df, job, tile, block, worker);
  } else if (job.plan->blocks != BlockForm::kNone) {
    EmulatedValues(df, job, tile, block, worker);
  } else if (!job.value_pairs()) {
    BlockValues<F32Dot>(df, job, worker.weights.data(), tile.v, 1, block,
                        worker);
  } else if (native) {
    BlockValues<PairDot<true>>(df, job, worker.weight_pairs.data(),
                               tile.v_pairs, 2, block, worker);
  } else {
    BlockValues<PairDot<false>>(df, job, worker.weight_pairs.data(),
                                tile.v_pairs, 2, block, worker);
  }
}

// Rows of one block against the keys that it sees of one tile.
template <bool kMasked, class D>
void BlockTimesTile(D df, const AttentionJob& job, const PackedTile& tile,
                    size_t number, const DotForm& form, Worker& worker) {
  const Range seen = worker.seen[number];
  Block block;
  const auto row_block = static_cast<size_t>(job.geometry.row_block);
  block.first_row = number * row_block;
  block.rows = std::min(row_block, worker.rows.size() - block.first_row);
  block.begin = static_cast<size_t>(seen.begin);
  block.end = static_cast<size_t>(seen.end);
  BlockScores(df, job, tile, block, form.native_scores, worker);
  BlockWeights<kMasked>(df, job, block, worker);
  BlockValues(df, job, tile, block, form.native_values, worker);
}

// Scores -> weights of the numerator as pairs, row by row: a row of scores
// stays in the first cache.
template <bool kMasked, class D>
void MatrixWeights(D df, const AttentionJob& job, const Block& block,
                   Worker& worker) {
  const auto values = static_cast<size_t>(job.padded_values);
  const auto stride = static_cast<size_t>(job.weight_stride);
  for (size_t r = 0; r < block.rows; ++r) {
    RowState& row = worker.rows[block.first_row + r];
    const RowSlice slice = SliceOf<kMasked>(job, block, r, worker);
    uint32_t* pairs =
        worker.weight_pairs.data() + (block.weight_row + r) * stride / 2;
    RowScores<kMasked>(df, job, slice,
                       worker.acc.data() + (block.first_row + r) * values, row);
    if (row.fixed || NearWeightsAreExact(row.n_min, row.m)) {
      const float offset = row.fixed ? 0.0f : kWeightShift - row.m;
      NearWeightPairs<kMasked>(df, static_cast<int>(offset), slice, pairs);
    } else {
      OnlineWeights(df, row.m, slice);
      PackWeightPairs(df, slice, pairs);
    }
  }
}

// All rows against the tile, by the matrix unit.
template <bool kMasked, class D>
void MatrixTimesTile(D df, const AttentionJob& job, const PackedTile& tile,
                     Worker& worker) {
  std::array<Block, kMatrixBlocks> storage;
  // Few enough blocks at a time that their weights stay in the second cache.
  for (size_t next = 0; next < worker.seen.size();) {
    const std::span<const Block> blocks =
        BlocksThatSee(job, worker, &next, storage);
    MatrixScores(job, tile, blocks, worker);
    for (const Block& block : blocks) {
      MatrixWeights<kMasked>(df, job, block, worker);
    }
    MatrixValues(job, tile, blocks, worker);
  }
}

// Whether the dot instruction gives the contract's bits on this tile, the next
// one of the walk. A sum that an earlier tile left subnormal would be flushed
// here, even by weights of +0. So the fixed-m path checks the values of all
// tiles so far. Online rows are judged at the end, by OnlineGuardHolds, which
// holds for every sum on the way. `exact` asks for the form that needs no
// guard.
inline DotForm FormOfTile(const AttentionJob& job, const PackedTile& tile,
                          bool exact, Worker& worker) {
  worker.v_seen.Add(tile.v_seen);
  DotForm form;
  form.native_scores =
      job.plan->native_dot && NativeDotIsExact(worker.q_seen, tile.k_seen);
  form.native_values =
      job.plan->native_dot && job.value_pairs() && !exact &&
      (job.plan->fixed_m ? NativeFixedIsExact(worker.v_seen, job.scale.bound)
                         : !tile.v_seen.subnormal());
  return form;
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
