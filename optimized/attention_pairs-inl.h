// Packs keys, values and queries as pairs of bf16 for the dot instruction (N5).
// A u32 holds the elements 2i (upper half) and 2i + 1 (lower half) of a sum, so
// that the instruction's order, upper first, is the contract's.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_PAIRS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_PAIRS_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_PAIRS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_PAIRS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/attention_work.h"
#include "optimized/simd/registers-inl.h"
#include "optimized/simd/transpose-inl.h"

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

// Smallest magnitudes - 1 of both halves of pairs, per lane.
template <class U>
struct LeastHalves {
  hn::Vec<U> lanes;

  // Written out: a default initialiser would be compiled without the target.
  HWY_INLINE LeastHalves() : lanes(hn::Set(U(), ~uint32_t{0})) {}

  HWY_INLINE void Add(hn::Vec<U> pairs) {
    const auto magnitude = hn::Set(U(), 0x7fffu);
    const auto one = hn::Set(U(), 1u);
    const auto lower = hn::And(pairs, magnitude);
    const auto upper = hn::And(hn::ShiftRight<16>(pairs), magnitude);
    lanes = hn::Min(lanes, hn::Sub(lower, one));
    lanes = hn::Min(lanes, hn::Sub(upper, one));
  }
  HWY_INLINE void AddTo(Magnitudes* seen) const {
    seen->smallest = std::min(seen->smallest, hn::ReduceMin(U(), lanes));
  }
};

// Whole pairs of channels of four keys, from `key` on, `out` from the first
// one's lane on: [dim / 2][panel].
template <class Least>
HWY_INLINE void PackFourKeyPairs(const KeyRows<Bf16>& rows, int64_t key,
                                 int64_t dim, int64_t panel, Least& least,
                                 uint32_t* out) {
  const hn::CappedTag<uint32_t, kQuad> du;
  // In memory the first of two channels is the lower half.
  const auto load = [&](const Bf16* x) HWY_ATTR {
    const auto pairs = hn::RotateRight<16>(
        hn::LoadU(du, reinterpret_cast<const uint32_t*>(x)));
    least.Add(pairs);
    return pairs;
  };
  constexpr auto kStep = static_cast<int64_t>(2 * kQuad);
  const Bf16* const x[] = {rows(key), rows(key + 1), rows(key + 2),
                           rows(key + 3)};
  for (int64_t d = 0; d + kStep <= dim; d += kStep) {
    StoreTransposed(du, load(x[0] + d), load(x[1] + d), load(x[2] + d),
                    load(x[3] + d), out + d / 2 * panel,
                    static_cast<size_t>(panel));
  }
}

// k [head_pairs][panel] per panel; keys beyond the tile are zero, and channels
// beyond the head.
inline Magnitudes PackKeyPairs(const AttentionJob& job, int64_t batch,
                               int64_t kv_head, Range keys, uint32_t* out) {
  const KeyRows<Bf16> rows = job.Keys<Bf16>(batch, kv_head);
  const int64_t stride = job.inputs->k.strides[3];
  const int64_t panel = job.geometry.panel();
  const int64_t dim = job.problem->head_dim;
  const int64_t count = keys.end - keys.begin;
  constexpr auto kStep = static_cast<int64_t>(kQuad);
  Magnitudes seen;
  LeastHalves<hn::CappedTag<uint32_t, kQuad>> least;
  for (int64_t at = 0; at < job.padded_keys; at += kStep) {
    uint32_t* to = out + at / panel * panel * job.head_pairs() + at % panel;
    int64_t done = 0;
    if (at + kStep <= count && stride == 1) {
      PackFourKeyPairs(rows, keys.begin + at, dim, panel, least, to);
      done = dim / 8 * 8;
    }
    for (int64_t r = 0; r < kStep; ++r) {
      for (int64_t d = done; d < dim; d += 2) {
        to[d / 2 * panel + r] =
            at + r < count
                ? PairOf(rows(keys.begin + at + r), stride, d, dim, &seen)
                : 0u;
      }
      for (int64_t pair = (dim + 1) / 2; pair < job.head_pairs(); ++pair) {
        to[pair * panel + r] = 0u;
      }
    }
  }
  least.AddTo(&seen);
  return seen;
}

// Values of two keys as pairs, whole vectors of them; returns how many.
template <class U>
HWY_INLINE int64_t PackValuePairRow(const Bf16* upper_row,
                                    const Bf16* lower_row, int64_t n,
                                    LeastHalves<U>& least, uint32_t* out) {
  const U du;
  const hn::Rebind<uint16_t, U> d16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(du));
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes) {
    const auto upper = hn::PromoteTo(du, hn::LoadU(d16, &upper_row[c].bits));
    const auto lower = hn::PromoteTo(du, hn::LoadU(d16, &lower_row[c].bits));
    const auto pairs = hn::Or(hn::ShiftLeft<16>(upper), lower);
    least.Add(pairs);
    hn::StoreU(pairs, du, out + c);
  }
  return c;
}

// v [key pair][panel] per panel, the last one a vector wide if that is enough.
// The matrix unit wants the first key as lower half: so a vector of weights
// packs at one stroke.
inline Magnitudes PackValuePairs(const AttentionJob& job, int64_t batch,
                                 int64_t kv_head, Range keys, uint32_t* out) {
  const KeyRows<Bf16> rows = job.Values<Bf16>(batch, kv_head);
  const int64_t stride = job.inputs->v.strides[3];
  const int64_t panel = job.geometry.panel();
  const int64_t count = keys.end - keys.begin;
  Magnitudes seen;
  LeastHalves<hn::ScalableTag<uint32_t>> least;
  for (int64_t first = 0; first < job.padded_values; first += panel) {
    const int64_t width = std::min(panel, job.padded_values - first);
    for (int64_t key = 0; key < job.plan->tile_keys; key += 2, out += width) {
      const int64_t used =
          key < count ? std::min(width, job.problem->value_dim - first) : 0;
      std::fill(out + used, out + width, 0u);
      if (used == 0) continue;
      const bool both = key + 2 <= count;
      const int64_t at = keys.begin + key;
      const Bf16* a = rows(at) + first * stride;
      const Bf16* b = both ? rows(at + 1) + first * stride : nullptr;
      int64_t c = 0;
      if (stride == 1 && both) {
        c = job.matrix() ? PackValuePairRow(b, a, used, least, out)
                         : PackValuePairRow(a, b, used, least, out);
      }
      for (; c < used; ++c) {
        const uint32_t upper = a[c * stride].bits;
        const uint32_t lower = both ? b[c * stride].bits : 0u;
        seen.Add(upper);
        seen.Add(lower);
        const uint32_t pair = upper << 16 | lower;
        out[c] = job.matrix() ? std::rotl(pair, 16) : pair;
      }
    }
  }
  least.AddTo(&seen);
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
        pair = PairOf(&q(batch, row.head, row.place, 0), q.strides[3], d, dim,
                      &worker.q_seen);
      }
    }
    out += kRowBlock * job.head_pairs();
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
