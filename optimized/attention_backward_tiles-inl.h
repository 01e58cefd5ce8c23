// The five products of attention_backward on one query tile and one key tile:
// q k and do v (ScorePanel), and what adds to dq, dk and dv. Every accumulator
// is one output chain in N18's order.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_TILES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_TILES_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_TILES_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/attention_backward_work.h"
#include "optimized/attention_tiles-inl.h"
#include "optimized/simd/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Both scores of every row block: dots of q and k to p, of do and v to ds, for
// the keys that its rows see. One panel of keys stays in the first cache for
// all blocks. Exact: N3.
template <class D>
HWY_INLINE void TileScores(D df, const BackwardJob& job, BackwardWorker& w) {
  const auto head_dim = static_cast<size_t>(job.forward().head_dim);
  const auto value_dim = static_cast<size_t>(job.forward().value_dim);
  const size_t stride = job.score_stride();
  const size_t panel = 2 * hn::Lanes(df);
  const auto keys = static_cast<size_t>(job.padded_keys());
  const auto each = [&](const BackwardPanels& rows, const BackwardPanels& x,
                        size_t dim, size_t j, float* scores) {
    for (size_t block = 0; block < w.seen.size(); ++block) {
      const Range seen = w.seen[block];
      if (static_cast<int64_t>(j) < seen.begin ||
          static_cast<int64_t>(j) >= seen.end) {
        continue;
      }
      const size_t row = block * kRowBlock;
      ScorePanel<F32Dot, kRowBlock, 2>(df, &rows.columns[row * dim],
                                       &x.columns[j * dim], dim,
                                       scores + row * stride + j, stride);
    }
  };
  for (size_t j = 0; j < keys; j += panel) {
    each(w.q, w.k, head_dim, j, w.p.data());
    each(w.d_o, w.v, value_dim, j, w.ds.data());
  }
}

// Factors of kRowBlock chains side by side: of chain r in step s at
// r * chain + s * step.
struct Factors {
  const float* data = nullptr;
  size_t chain = 0;
  size_t step = 0;
};

// Adds `steps` terms to kRowBlock chains of kVectors vectors of channels.
//   b [steps][kVectors vectors], rows `b_stride` apart; acc [kRowBlock]
//   [kVectors vectors], rows `acc_stride` apart.
template <int kVectors, class D>
HWY_INLINE void AddPanel(D df, const Factors& factors,
                         const float* HWY_RESTRICT b, size_t b_stride,
                         size_t steps, float* HWY_RESTRICT acc,
                         size_t acc_stride) {
  static_assert(kVectors == 1 || kVectors == 2);
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(df);
  constexpr int kSecond = kVectors - 1;  // offset 0 when there is none
  const float* HWY_RESTRICT a = factors.data;
  V acc0[kRowBlock], acc1[kRowBlock];
  HWY_UNROLL(8)
  for (int r = 0; r < kRowBlock; ++r) {
    acc0[r] = hn::Load(df, acc + r * acc_stride);
    acc1[r] = hn::Load(df, acc + r * acc_stride + kSecond * lanes);
  }
  HWY_UNROLL(4)
  for (size_t s = 0; s < steps; ++s) {
    const auto b0 = hn::Load(df, b);
    const auto b1 = hn::Load(df, b + kSecond * lanes);
    HWY_UNROLL(8)
    for (int r = 0; r < kRowBlock; ++r) {
      const auto x = hn::Set(df, a[r * factors.chain]);
      acc0[r] = hn::MulAdd(x, b0, acc0[r]);
      if constexpr (kVectors == 2) acc1[r] = hn::MulAdd(x, b1, acc1[r]);
    }
    a += factors.step;
    b += b_stride;
  }
  HWY_UNROLL(8)
  for (int r = 0; r < kRowBlock; ++r) {
    hn::Store(acc0[r], df, acc + r * acc_stride);
    if constexpr (kVectors == 2) {
      hn::Store(acc1[r], df, acc + r * acc_stride + lanes);
    }
  }
}

// Adds terms of positions `steps` to kRowBlock chains of one panel of channels,
// which starts at channel c; panels have room for `positions`.
template <class D>
HWY_INLINE void AddProducts(D df, const Factors& factors, Range steps,
                            const BackwardPanels& b, int64_t positions,
                            int64_t c, int64_t channels, float* acc) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto acc_stride = static_cast<size_t>(channels);
  const auto count = static_cast<size_t>(steps.end - steps.begin);
  const float* panel = b.panels.data() + c * positions;
  if (c + lanes < channels) {
    AddPanel<2>(df, factors, panel + steps.begin * 2 * lanes,
                static_cast<size_t>(2 * lanes), count, acc + c, acc_stride);
  } else {
    AddPanel<1>(df, factors, panel + steps.begin * lanes,
                static_cast<size_t>(lanes), count, acc + c, acc_stride);
  }
}

// dq of every row block: chains over the keys it sees. One panel of channels of
// k stays in the first cache for all blocks.
template <class D>
HWY_INLINE void AddToQueries(D df, const BackwardJob& job, BackwardWorker& w) {
  const size_t stride = job.score_stride();
  const int64_t channels = job.padded_head();
  for (int64_t c = 0; c < channels; c += job.geometry.panel()) {
    for (size_t block = 0; block < w.seen.size(); ++block) {
      const size_t row = block * kRowBlock;
      const Range seen = w.seen[block];
      if (seen.empty()) continue;
      const Factors ds{&w.ds[row * stride + static_cast<size_t>(seen.begin)],
                       stride, 1};
      AddProducts(df, ds, seen, w.k, job.padded_keys(), c, channels,
                  &w.dq[row * static_cast<size_t>(channels)]);
    }
  }
}

// The rows of blocks that see one of kRowBlock keys from `key` on, and those
// between.
inline Range RowsThatSee(const BackwardWorker& w, int64_t key) {
  Range rows{0, 0};
  for (size_t block = 0; block < w.seen.size(); ++block) {
    const Range seen = w.seen[block];
    if (seen.empty() || seen.end <= key ||
        seen.begin >= key + static_cast<int64_t>(kRowBlock)) {
      continue;
    }
    const auto first = static_cast<int64_t>(block) * kRowBlock;
    if (rows.empty()) rows.begin = first;
    rows.end = first + kRowBlock;
  }
  return rows;
}

// dk or dv of all keys: chains over the rows, factors p or ds, of which those
// outside the row blocks that see one of the keys have zeros.
template <class D>
HWY_INLINE void AddToKeys(D df, const BackwardJob& job, const BackwardWorker& w,
                          const float* factors, const BackwardPanels& b,
                          int64_t channels, float* acc) {
  const size_t stride = job.score_stride();
  for (int64_t c = 0; c < channels; c += job.geometry.panel()) {
    for (int64_t key = 0; key < job.padded_keys(); key += kRowBlock) {
      const Range rows = RowsThatSee(w, key);
      if (rows.empty()) continue;
      const size_t at =
          static_cast<size_t>(rows.begin) * stride + static_cast<size_t>(key);
      AddProducts(df, {factors + at, 1, stride}, rows, b, job.padded_rows(), c,
                  channels, acc + key * channels);
    }
  }
}

// acc [channels] + x * row `position` of the panels.
template <class D>
HWY_INLINE void AddRow(D df, float x, const BackwardPanels& b,
                       int64_t positions, int64_t position, int64_t channels,
                       float* acc) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  for (int64_t first = 0; first < channels; first += 2 * lanes) {
    const int64_t width = std::min(2 * lanes, channels - first);
    const float* row = b.panels.data() + first * positions + position * width;
    for (int64_t c = 0; c < width; c += lanes) {
      float* to = acc + first + c;
      hn::Store(
          hn::MulAdd(hn::Set(df, x), hn::Load(df, row + c), hn::Load(df, to)),
          df, to);
    }
  }
}

// All three sums of the visible pairs of one row, pair by pair. This is for
// rows with a masked pair that has an infinite or NaN factor: its zero weight
// would give NaN (N18).
template <class D>
HWY_INLINE void AddRowByPair(D df, const BackwardJob& job, int64_t row,
                             BackwardWorker& w) {
  const uint64_t* bits = &w.bits[static_cast<size_t>(row) * job.bit_words()];
  for (int64_t j = 0; j < job.plan->tile_keys; ++j) {
    if ((bits[j / 64] >> (j % 64) & 1) == 0) continue;
    const size_t at =
        static_cast<size_t>(row) * job.score_stride() + static_cast<size_t>(j);
    AddRow(df, w.p[at], w.d_o, job.padded_rows(), row, job.padded_value(),
           &w.dv[static_cast<size_t>(j * job.padded_value())]);
    AddRow(df, w.ds[at], w.q, job.padded_rows(), row, job.padded_head(),
           &w.dk[static_cast<size_t>(j * job.padded_head())]);
    AddRow(df, w.ds[at], w.k, job.padded_keys(), j, job.padded_head(),
           &w.dq[static_cast<size_t>(row * job.padded_head())]);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
