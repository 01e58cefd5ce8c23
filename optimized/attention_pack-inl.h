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

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "optimized/attention_pairs-inl.h"
#include "optimized/attention_work.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/lanes-inl.h"
#include "optimized/simd/registers-inl.h"
#include "optimized/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Four rows of a tensor that is contiguous along its channels.
template <typename T>
struct FourRows {
  const T* row[4];
};

// Channels of four rows side by side: out [dim][4], `pitch` apart. Rows are
// read in columns, which the hardware does not foresee: four fifths of the time
// went into waiting for them. So `ahead`, the four rows that come next, are
// asked for meanwhile, a cache line of each at a time.
template <typename T>
HWY_INLINE void PackFourRows(const FourRows<T>& x, const FourRows<T>& ahead,
                             int64_t dim, int64_t pitch, float* out) {
  const hn::CappedTag<float, kQuad> df;
  constexpr auto kStep = static_cast<int64_t>(kQuad);
  constexpr auto kLine = static_cast<int64_t>(64 / sizeof(T));
  int64_t d = 0;
  for (; d + kStep <= dim; d += kStep) {
    if (d % kLine == 0) {
      for (const T* row : ahead.row) hwy::Prefetch(row + d);
    }
    StoreTransposed(
        df, LoadWidened(df, x.row[0] + d), LoadWidened(df, x.row[1] + d),
        LoadWidened(df, x.row[2] + d), LoadWidened(df, x.row[3] + d),
        out + d * pitch, static_cast<size_t>(pitch));
  }
  for (; d < dim; ++d) {
    for (int64_t r = 0; r < kStep; ++r)
      out[d * pitch + r] = ToFloat(x.row[r][d]);
  }
}

// The number of a tile's keys that are packed. A tile of pages or of a ragged
// batch may hold few keys of its row. Later keys are masked, and the walk stops
// before them, so it never reads what the buffer holds there.
inline int64_t KeysPacked(const AttentionJob& job, int64_t batch, Range keys,
                          int64_t all) {
  const bool elsewhere = job.pages != nullptr || job.varlen != nullptr;
  if (!elsewhere) return all;
  const int64_t there = job.inputs->ValidKv(*job.problem, batch) - keys.begin;
  const int64_t step = std::max(job.geometry.panel(), job.key_step());
  return std::clamp<int64_t>(RoundUp(there, step), 0, all);
}

// k [head_dim][panel] per panel, from k [.., key, head_dim]. Keys beyond the
// tile are zero: their scores are masked, but must not be read from nowhere.
template <typename T>
void PackKeys(const AttentionJob& job, int64_t batch, int64_t kv_head,
              Range keys, float* out) {
  constexpr auto kStep = static_cast<int64_t>(kQuad);
  const int64_t panel = job.geometry.panel();
  const int64_t dim = job.problem->head_dim;
  const int64_t count = keys.end - keys.begin;
  const KeyRows<T> rows = job.Keys<T>(batch, kv_head);
  const int64_t stride = job.inputs->k.strides[3];
  const int64_t packed = KeysPacked(job, batch, keys, job.padded_keys);
  for (int64_t at = 0; at < packed; at += kStep) {
    float* to = out + at / panel * panel * dim + at % panel;
    // Beyond the last key it is only looked at, not read from.
    const auto row = [&](int64_t key) {
      return rows(keys.begin + std::min(key, count - 1));
    };
    if (at + kStep <= count && stride == 1) {
      const auto four = [&](int64_t key) {
        return FourRows<T>{row(key), row(key + 1), row(key + 2), row(key + 3)};
      };
      PackFourRows(four(at), four(at + kStep), dim, panel, to);
      continue;
    }
    for (int64_t r = 0; r < kStep; ++r) {
      const T* x = row(at + r);
      for (int64_t d = 0; d < dim; ++d) {
        to[d * panel + r] = at + r < count ? ToFloat(x[d * stride]) : 0.0f;
      }
    }
  }
}

// Smallest magnitudes - 1 of f32, lane by lane: zero wraps to the largest
// number, so that it is never the smallest.
template <class U>
struct LeastMagnitude {
  hn::Vec<U> lanes;
  uint32_t rest = ~uint32_t{0};

  // Written out: a default initialiser would be compiled without the target.
  HWY_INLINE LeastMagnitude() : lanes(hn::Set(U(), ~uint32_t{0})) {}

  HWY_INLINE void Add(hn::Vec<U> bits) {
    const auto magnitude = hn::And(bits, hn::Set(U(), 0x7fffffffu));
    lanes = hn::Min(lanes, hn::Sub(magnitude, hn::Set(U(), 1u)));
  }
  HWY_INLINE void Add(float x) {
    rest = std::min(rest, (std::bit_cast<uint32_t>(x) & 0x7fffffffu) - 1);
  }
  // N9's eV: -126 if subnormal, large if all are zero.
  HWY_INLINE int Exponent() const {
    const uint32_t least = std::min(rest, hn::ReduceMin(U(), lanes));
    if (least == ~uint32_t{0}) return PackedTile().v_exponent;
    return std::max(static_cast<int>((least + 1) >> 23), 1) - 127;
  }
};

// Copies `used` of `width` values of a row, widened, and zeroes the others.
template <typename T, class Least>
HWY_INLINE void PackValueRow(const T* row, int64_t stride, int64_t used,
                             int64_t width, Least& least, float* out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToUnsigned<decltype(df)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  int64_t c = 0;
  for (; stride == 1 && c + lanes <= used; c += lanes) {
    const auto x = LoadWidened(df, row + c);
    hn::StoreU(x, df, out + c);
    least.Add(hn::BitCast(du, x));
  }
  for (; c < used; ++c) {
    out[c] = ToFloat(row[c * stride]);
    least.Add(out[c]);
  }
  std::fill(out + c, out + width, 0.0f);
}

// Copies `whole` values of a row, widened, into panels `pitch` apart. As loops
// of two vectors they took twice as long.
template <typename T, class Least>
HWY_INLINE void PackWholePanels(const T* row, int64_t whole, int64_t pitch,
                                Least& least, float* out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToUnsigned<decltype(df)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  for (int64_t c = 0; c < whole; c += 2 * lanes, out += pitch) {
    const auto a = LoadWidened(df, row + c);
    const auto b = LoadWidened(df, row + c + lanes);
    hn::StoreU(a, df, out);
    hn::StoreU(b, df, out + lanes);
    least.Add(hn::BitCast(du, a));
    least.Add(hn::BitCast(du, b));
  }
}

// v [key][panel] per panel; the last panel is one vector wide if that is
// enough. Row by row: a column of rows, 512 bytes apart, is not fetched ahead.
// Returns the exponent of the smallest nonzero |v| (N9's eV).
template <typename T>
int PackValues(const AttentionJob& job, int64_t batch, int64_t kv_head,
               Range keys, float* out) {
  const int64_t panel = job.geometry.panel();
  const int64_t dim = job.problem->value_dim;
  const int64_t tile_keys = job.plan->tile_keys;
  const int64_t count = keys.end - keys.begin;
  const KeyRows<T> rows = job.Values<T>(batch, kv_head);
  const int64_t stride = job.inputs->v.strides[3];
  const int64_t whole = stride == 1 ? dim / panel * panel : 0;
  LeastMagnitude<hn::ScalableTag<uint32_t>> least;
  const int64_t packed = KeysPacked(job, batch, keys, tile_keys);
  for (int64_t key = 0; key < packed; ++key) {
    // Beyond the last key it is only looked at, not read from.
    const T* row = rows(keys.begin + std::min(key, count - 1));
    int64_t first = 0;
    if (key < count) {
      PackWholePanels(row, whole, panel * tile_keys, least, out + key * panel);
      first = whole;
    }
    for (; first < job.padded_values; first += panel) {
      const int64_t width = std::min(panel, job.padded_values - first);
      const int64_t used = key < count ? std::min(width, dim - first) : 0;
      PackValueRow(row + first * stride, stride, used, width, least,
                   out + first * tile_keys + key * width);
    }
  }
  return least.Exponent();
}

// Smallest magnitudes of rows [begin, end) of x, for BlockForm::kGuarded:
// `row_of` says where they lie.
template <class RowOf>
Magnitudes SeenIn(const LaneView& x, Range rows, const RowOf& row_of) {
  Magnitudes seen;
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const Bf16* row = row_of(i);
    for (int64_t c = 0; c < x.shape[3]; ++c) {
      seen.Add(row[c * x.strides[3]].bits);
    }
  }
  return seen;
}

inline void SeeQueries(const AttentionJob& job, int64_t batch, Worker& worker) {
  worker.q_seen = Magnitudes();
  const auto q = job.inputs->q.As<Bf16>();
  for (const RowState& row : worker.rows) {
    const auto row_of = [&](int64_t i) { return &q(batch, row.head, i, 0); };
    worker.q_seen.Add(
        SeenIn(job.inputs->q, {row.place, row.place + 1}, row_of));
  }
}

// Keys and values of one key tile in f32.
template <typename T>
void PackWide(const AttentionJob& job, int64_t batch, int64_t kv_head,
              Range keys, PackedTile& tile) {
  PackKeys<T>(job, batch, kv_head, keys, tile.k);
  tile.v_exponent = PackValues<T>(job, batch, kv_head, keys, tile.v);
}

// q [row block][head_dim][kRowBlock]; rows beyond the tile are zero. Four rows
// at a time: the last four of a block of six overlap the first four.
template <typename T>
void PackQueries(const AttentionJob& job, const TensorView<const T, 4>& q,
                 int64_t batch, Worker& worker) {
  constexpr auto kStep = static_cast<int64_t>(kQuad);
  const int64_t dim = job.problem->head_dim;
  const auto rows = static_cast<int64_t>(worker.rows.size());
  const auto row = [&](int64_t at) {  // beyond the last one: the last one
    const RowState& state =
        worker.rows[static_cast<size_t>(std::min(at, rows - 1))];
    return &q(batch, state.head, state.place, 0);
  };
  const auto four_from = [&](int64_t at) {
    return FourRows<T>{row(at), row(at + 1), row(at + 2), row(at + 3)};
  };
  float* out = worker.q.data();
  for (int64_t first = 0; first < rows; first += kRowBlock) {
    for (int64_t r = 0; r < kRowBlock;) {
      const int64_t four = std::min<int64_t>(r, kRowBlock - kStep);
      if (q.strides[3] == 1 && first + four + kStep <= rows) {
        PackFourRows(four_from(first + four), four_from(first + four + kStep),
                     dim, kRowBlock, out + four);
        r = four + kStep;
        continue;
      }
      for (int64_t d = 0; d < dim; ++d) {
        out[d * kRowBlock + r] =
            first + r < rows ? ToFloat(row(first + r)[d * q.strides[3]]) : 0.0f;
      }
      ++r;
    }
    out += kRowBlock * dim;
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
