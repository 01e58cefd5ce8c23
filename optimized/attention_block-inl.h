// One block of rows against one tile of keys: scores, weights, values.
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
#include "optimized/attention_pairs-inl.h"
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

// Weights of one row of one tile; scores are in `slice`.
template <bool kMasked, class D>
HWY_INLINE void RowWeights(D df, const AttentionJob& job, const RowSlice& slice,
                           float* acc, RowState& row) {
  if (row.fixed) return FixedWeights<kMasked>(df, job.scale, slice);
  const Extremes n = OnlineScores<kMasked>(df, job.scale, slice);
  row.n_min = std::min(row.n_min, n.min);
  if (n.max > row.m) {
    ScaleDown(df, row.m - n.max, acc, static_cast<size_t>(job.padded_values));
    ScaleDown(df, row.m - n.max, slice.stripes, kStripes);
    row.m = n.max;
  }
  OnlineWeights(df, row.m, slice);
}

// Where one row block of the worker stands in one tile.
struct Block {
  size_t first_row = 0;
  size_t rows = 0;
  size_t begin = 0;  // keys that some row sees
  size_t end = 0;
};

// How a tile's products are formed (N5): by the dot instruction, or on pairs
// of bf16 without it.
struct DotForm {
  bool native_scores = false;
  bool native_values = false;
};

// Scores of the block's rows into worker.weights.
template <class D>
void BlockScores(D df, const AttentionJob& job, const PackedTile& tile,
                 const Block& block, bool native, Worker& worker) {
  const auto panel = static_cast<size_t>(job.geometry.panel());
  const auto stride = static_cast<size_t>(job.padded_keys);
  float* weights = worker.weights.data();
  const auto dim = static_cast<size_t>(job.key_pairs() ? job.head_pairs()
                                                       : job.problem->head_dim);
  WithRows(static_cast<int64_t>(block.rows), [&]<int kRows>() HWY_ATTR {
    for (size_t key = block.begin / panel * panel; key < block.end;
         key += panel) {
      const size_t q_at = block.first_row * dim;
      if (!job.key_pairs()) {
        ScorePanel<kRows>(df, worker.q.data() + q_at, tile.k + key * dim, dim,
                          weights + key, stride);
      } else if (native) {
        ScorePairs<kRows, true>(df, worker.q_pairs.data() + q_at,
                                tile.k_pairs + key * dim, dim, weights + key,
                                stride);
      } else {
        ScorePairs<kRows, false>(df, worker.q_pairs.data() + q_at,
                                 tile.k_pairs + key * dim, dim, weights + key,
                                 stride);
      }
    }
  });
}

// Scores -> weights, row by row; as pairs too, if values are.
template <bool kMasked, class D>
void BlockWeights(D df, const AttentionJob& job, const Block& block,
                  Worker& worker) {
  const auto stride = static_cast<size_t>(job.padded_keys);
  const auto values = static_cast<size_t>(job.padded_values);
  for (size_t r = 0; r < block.rows; ++r) {
    const size_t row = block.first_row + r;
    RowSlice slice;
    slice.weights = worker.weights.data() + r * stride;
    slice.stripes = &worker.stripes[row * kStripes];
    slice.begin = block.begin / kStripes * kStripes;
    slice.end = (block.end + kStripes - 1) / kStripes * kStripes;
    slice.round_to_bf16 = job.problem->p_lane == Lane::kBf16;
    if constexpr (kMasked) {
      slice.bits =
          reinterpret_cast<const uint8_t*>(&worker.bits[row * BitWords(job)]);
    }
    RowWeights<kMasked>(df, job, slice, worker.acc.data() + row * values,
                        worker.rows[row]);
    if (job.value_pairs()) {
      PackPairs(df, slice.weights, slice.begin, slice.end,
                worker.weight_pairs.data() + r * stride / 2);
    }
  }
}

// Weights times one panel of values, kVectors wide, from channel c on.
template <int kRows, int kVectors, class D>
HWY_INLINE void BlockPanel(D df, const AttentionJob& job,
                           const PackedTile& tile, const Block& block,
                           bool native, size_t c, Worker& worker) {
  const auto stride = static_cast<size_t>(job.padded_keys);
  const auto values = static_cast<size_t>(job.padded_values);
  const auto keys = static_cast<size_t>(job.plan->tile_keys);
  const size_t width = kVectors * hn::Lanes(df);
  float* acc = worker.acc.data() + block.first_row * values + c;
  if (!job.value_pairs()) {
    return ValuePanel<kRows, kVectors>(df, worker.weights.data() + block.begin,
                                       stride,
                                       tile.v + c * keys + block.begin * width,
                                       block.end - block.begin, acc, values);
  }
  // Whole pairs: a neighbour nobody sees has weight +0.
  const size_t begin = block.begin / 2;
  const size_t pairs = (block.end + 1) / 2 - begin;
  const uint32_t* p = worker.weight_pairs.data() + begin;
  const uint32_t* v = tile.v_pairs + c * keys / 2 + begin * width;
  if (native) {
    ValuePairs<kRows, kVectors, true>(df, p, stride / 2, v, pairs, acc, values);
  } else {
    ValuePairs<kRows, kVectors, false>(df, p, stride / 2, v, pairs, acc,
                                       values);
  }
}

// Rows of one block against the keys that it sees of one tile.
template <bool kMasked, class D>
void BlockTimesTile(D df, const AttentionJob& job, const PackedTile& tile,
                    size_t number, const DotForm& form, Worker& worker) {
  const auto panel = static_cast<size_t>(job.geometry.panel());
  const auto values = static_cast<size_t>(job.padded_values);
  const Range seen = worker.seen[number];
  Block block;
  block.first_row = number * kRowBlock;
  block.rows =
      std::min<size_t>(kRowBlock, worker.rows.size() - block.first_row);
  block.begin = static_cast<size_t>(seen.begin);
  block.end = static_cast<size_t>(seen.end);
  BlockScores(df, job, tile, block, form.native_scores, worker);
  BlockWeights<kMasked>(df, job, block, worker);
  WithRows(static_cast<int64_t>(block.rows), [&]<int kRows>() HWY_ATTR {
    for (size_t c = 0; c < values; c += panel) {
      if (values - c >= panel) {
        BlockPanel<kRows, 2>(df, job, tile, block, form.native_values, c,
                             worker);
      } else {
        BlockPanel<kRows, 1>(df, job, tile, block, form.native_values, c,
                             worker);
      }
    }
  });
}

// Whether the dot instruction gives the contract's bits on this tile. Values
// of online rows are judged at the end, by OnlineGuardHolds; `exact` asks for
// the form that needs no guard.
inline DotForm FormOfTile(const AttentionJob& job, const PackedTile& tile,
                          bool exact, const Worker& worker) {
  DotForm form;
  form.native_scores =
      job.key_pairs() && NativeDotIsExact(worker.q_seen, tile.k_seen);
  form.native_values =
      job.value_pairs() && !exact &&
      (job.plan->fixed_m ? NativeFixedIsExact(tile.v_seen, job.scale.bound)
                         : !tile.v_seen.subnormal());
  return form;
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
