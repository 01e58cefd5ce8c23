// bf16 pairs: packing and register tiles for the dot instruction (N5). A u32
// holds the elements 2i (upper half) and 2i + 1 (lower half) of a sum, so that
// the instruction's order, upper first, is the contract's.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_PAIRS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_PAIRS_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_PAIRS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_PAIRS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/attention_work.h"
#include "optimized/simd/packed_dot-inl.h"
#include "optimized/simd/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Element `at` of a row of n as upper, its neighbour as lower half; 0 beyond.
inline uint32_t PairOf(const Bf16* row, int64_t stride, int64_t at, int64_t n,
                       Magnitudes* seen) {
  const uint32_t upper = row[at * stride].bits;
  const uint32_t lower = at + 1 < n ? row[(at + 1) * stride].bits : 0u;
  seen->Add(upper);
  seen->Add(lower);
  return upper << 16 | lower;
}

// k [head_dim / 2, up][panel] per panel; keys beyond the tile are zero.
inline Magnitudes PackKeyPairs(const AttentionJob& job, int64_t batch,
                               int64_t kv_head, Range keys, uint32_t* out) {
  const auto k = job.inputs->k.As<Bf16>();
  const int64_t panel = job.geometry.panel();
  const int64_t dim = job.problem->head_dim;
  Magnitudes seen;
  for (int64_t first = 0; first < job.padded_keys; first += panel) {
    for (int64_t lane = 0; lane < panel; ++lane) {
      const int64_t key = keys.begin + first + lane;
      for (int64_t d = 0; d < dim; d += 2) {
        out[d / 2 * panel + lane] = key < keys.end
                                        ? PairOf(&k(batch, kv_head, key, 0),
                                                 k.strides[3], d, dim, &seen)
                                        : 0u;
      }
    }
    out += panel * job.head_pairs();
  }
  return seen;
}

// v [key pair][panel] per panel, the last one a vector wide if that is enough.
inline Magnitudes PackValuePairs(const AttentionJob& job, int64_t batch,
                                 int64_t kv_head, Range keys, uint32_t* out) {
  const auto v = job.inputs->v.As<Bf16>();
  const int64_t panel = job.geometry.panel();
  const int64_t count = keys.end - keys.begin;
  Magnitudes seen;
  for (int64_t first = 0; first < job.padded_values; first += panel) {
    const int64_t width = std::min(panel, job.padded_values - first);
    const int64_t used = std::min(width, job.problem->value_dim - first);
    for (int64_t key = 0; key < job.plan->tile_keys; key += 2, out += width) {
      std::fill(out, out + width, 0u);
      if (key >= count) continue;
      const Bf16* row = &v(batch, kv_head, keys.begin + key, first);
      for (int64_t c = 0; c < used; ++c) {
        out[c] =
            PairOf(row + c * v.strides[3], v.strides[2], 0, count - key, &seen);
      }
    }
  }
  return seen;
}

// q [row block][head_dim / 2, up][kRowBlock]; rows beyond the tile are zero.
inline void PackQueryPairs(const AttentionJob& job, int64_t batch,
                           Worker& worker) {
  const auto q = job.inputs->q.As<Bf16>();
  const int64_t dim = job.problem->head_dim;
  const auto rows = static_cast<int64_t>(worker.rows.size());
  worker.q_seen = Magnitudes();
  uint32_t* out = worker.q_pairs.data();
  for (int64_t first = 0; first < rows; first += kRowBlock) {
    for (int64_t r = 0; r < kRowBlock; ++r) {
      for (int64_t d = 0; d < dim; d += 2) {
        uint32_t& pair = out[d / 2 * kRowBlock + r];
        pair = 0;
        if (first + r >= rows) continue;
        const RowState& row = worker.rows[static_cast<size_t>(first + r)];
        pair = PairOf(&q(batch, row.head, row.query, 0), q.strides[3], d, dim,
                      &worker.q_seen);
      }
    }
    out += kRowBlock * job.head_pairs();
  }
}

// acc + two products, by the instruction or, where its guard does not hold, by
// what it means.
template <bool kNative, class D, class Pairs>
HWY_INLINE hn::Vec<D> DotPairs(D df, hn::Vec<D> acc, Pairs a, Pairs b) {
  if constexpr (kNative) return PackedDot(df, acc, a, b);
  return UnpackedDot(df, acc, a, b);
}

// ScorePanel on pairs: q [pairs][kRowBlock], k [pairs][2 vectors].
template <int kRows, bool kNative, class D>
HWY_INLINE void ScorePairs(D df, const uint32_t* HWY_RESTRICT q,
                           const uint32_t* HWY_RESTRICT k, size_t pairs,
                           float* HWY_RESTRICT scores, size_t stride) {
  const hn::RebindToUnsigned<D> du;
  const size_t lanes = hn::Lanes(df);
  hn::Vec<D> acc0[kRows], acc1[kRows];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) acc0[r] = acc1[r] = hn::Zero(df);
  for (size_t d = 0; d < pairs; ++d) {
    const auto k0 = hn::Load(du, k);
    const auto k1 = hn::Load(du, k + lanes);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const auto qr = hn::Set(du, q[r]);
      acc0[r] = DotPairs<kNative>(df, acc0[r], qr, k0);
      acc1[r] = DotPairs<kNative>(df, acc1[r], qr, k1);
    }
    q += kRowBlock;
    k += 2 * lanes;
  }
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    hn::Store(acc0[r], df, scores + r * stride);
    hn::Store(acc1[r], df, scores + r * stride + lanes);
  }
}

// ValuePanel on pairs: p [kRows][pairs], v [pairs][kVectors vectors].
template <int kRows, int kVectors, bool kNative, class D>
HWY_INLINE void ValuePairs(D df, const uint32_t* HWY_RESTRICT p,
                           size_t p_stride, const uint32_t* HWY_RESTRICT v,
                           size_t pairs, float* HWY_RESTRICT acc,
                           size_t acc_stride) {
  static_assert(kVectors == 1 || kVectors == 2);
  const hn::RebindToUnsigned<D> du;
  const size_t lanes = hn::Lanes(df);
  constexpr int kSecond = kVectors - 1;  // offset 0 when there is none
  hn::Vec<D> acc0[kRows], acc1[kRows];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    acc0[r] = hn::Load(df, acc + r * acc_stride);
    acc1[r] = hn::Load(df, acc + r * acc_stride + kSecond * lanes);
  }
  for (size_t j = 0; j < pairs; ++j) {
    const auto v0 = hn::Load(du, v);
    const auto v1 = hn::Load(du, v + kSecond * lanes);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const auto pr = hn::Set(du, p[r * p_stride + j]);
      acc0[r] = DotPairs<kNative>(df, acc0[r], pr, v0);
      if constexpr (kVectors == 2) {
        acc1[r] = DotPairs<kNative>(df, acc1[r], pr, v1);
      }
    }
    v += kVectors * lanes;
  }
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    hn::Store(acc0[r], df, acc + r * acc_stride);
    if constexpr (kVectors == 2) {
      hn::Store(acc1[r], df, acc + r * acc_stride + lanes);
    }
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
