// Copies keys, values and queries into the panels that the register tiles
// read, widened to f32.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_PACK_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_PACK_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_PACK_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_PACK_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/attention_pairs-inl.h"
#include "optimized/attention_work.h"
#include "optimized/simd/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {

// k [head_dim][panel] per panel, from k [.., key, head_dim]. Keys beyond the
// tile are zero: their scores are masked, but must not be read from nowhere.
template <typename T>
void PackKeys(const AttentionJob& job, const TensorView<const T, 4>& k,
              int64_t batch, int64_t kv_head, Range keys, float* out) {
  const int64_t panel = job.geometry.panel();
  const int64_t dim = job.problem->head_dim;
  for (int64_t first = 0; first < job.padded_keys; first += panel) {
    for (int64_t lane = 0; lane < panel; ++lane) {
      const int64_t key = keys.begin + first + lane;
      if (key >= keys.end) {
        for (int64_t d = 0; d < dim; ++d) out[d * panel + lane] = 0.0f;
        continue;
      }
      const T* row = &k(batch, kv_head, key, 0);
      for (int64_t d = 0; d < dim; ++d) {
        out[d * panel + lane] = ToFloat(row[d * k.strides[3]]);
      }
    }
    out += panel * dim;
  }
}

// v [key][panel] per panel; the last panel is one vector wide if that is
// enough. Returns the exponent of the smallest nonzero |v| (N9's eV).
template <typename T>
int PackValues(const AttentionJob& job, const TensorView<const T, 4>& v,
               int64_t batch, int64_t kv_head, Range keys, float* out) {
  const int64_t panel = job.geometry.panel();
  const int64_t dim = job.problem->value_dim;
  // Zero wraps to the largest number, so that it is never the smallest.
  uint32_t smallest = ~uint32_t{0};
  for (int64_t first = 0; first < job.padded_values; first += panel) {
    const int64_t width = std::min(panel, job.padded_values - first);
    const int64_t used = std::min(width, dim - first);
    for (int64_t key = 0; key < job.plan->tile_keys; ++key, out += width) {
      std::fill(out, out + width, 0.0f);
      if (keys.begin + key >= keys.end) continue;
      const T* row = &v(batch, kv_head, keys.begin + key, first);
      for (int64_t c = 0; c < used; ++c) {
        out[c] = ToFloat(row[c * v.strides[3]]);
        const uint32_t magnitude = std::bit_cast<uint32_t>(out[c]) & 0x7fffffff;
        smallest = std::min(smallest, magnitude - 1);
      }
    }
  }
  if (smallest == ~uint32_t{0}) return PackedTile().v_exponent;
  return std::max(static_cast<int>((smallest + 1) >> 23), 1) - 127;
}

// Packs one key tile of one kv head; `tile` says where to.
inline void PackTile(const AttentionJob& job, int64_t batch, int64_t kv_head,
                     int64_t key_tile, PackedTile& tile) {
  const Range keys = job.KeysOfTile(key_tile);
  if (job.problem->lane == Lane::kF32) {
    PackKeys(job, job.inputs->k.As<float>(), batch, kv_head, keys, tile.k);
    tile.v_exponent = PackValues(job, job.inputs->v.As<float>(), batch, kv_head,
                                 keys, tile.v);
    return;
  }
  if (job.key_pairs()) {
    tile.k_seen = PackKeyPairs(job, batch, kv_head, keys, tile.k_pairs);
  } else {
    PackKeys(job, job.inputs->k.As<Bf16>(), batch, kv_head, keys, tile.k);
  }
  if (job.value_pairs()) {
    tile.v_seen = PackValuePairs(job, batch, kv_head, keys, tile.v_pairs);
    tile.v_exponent = tile.v_seen.exponent();
  } else {
    tile.v_exponent =
        PackValues(job, job.inputs->v.As<Bf16>(), batch, kv_head, keys, tile.v);
  }
}

// q [row block][head_dim][kRowBlock]; rows beyond the tile are zero.
template <typename T>
void PackQueries(const AttentionJob& job, const TensorView<const T, 4>& q,
                 int64_t batch, Worker& worker) {
  const int64_t dim = job.problem->head_dim;
  const auto rows = static_cast<int64_t>(worker.rows.size());
  float* out = worker.q.data();
  for (int64_t first = 0; first < rows; first += kRowBlock) {
    for (int64_t r = 0; r < kRowBlock; ++r) {
      if (first + r >= rows) {
        for (int64_t d = 0; d < dim; ++d) out[d * kRowBlock + r] = 0.0f;
        continue;
      }
      const RowState& row = worker.rows[static_cast<size_t>(first + r)];
      const T* from = &q(batch, row.head, row.query, 0);
      for (int64_t d = 0; d < dim; ++d) {
        out[d * kRowBlock + r] = ToFloat(from[d * q.strides[3]]);
      }
    }
    out += kRowBlock * dim;
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
