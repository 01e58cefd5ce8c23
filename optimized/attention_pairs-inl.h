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
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/attention_work.h"
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

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
