// Weights of few rows times values that are read where they lie, channels in
// lanes; every accumulator is one output chain as in attention_tiles-inl.h.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_VALUES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_VALUES_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_VALUES_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_VALUES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/attention_block-inl.h"
#include "optimized/attention_direct_rows-inl.h"
#include "optimized/attention_pack-inl.h"
#include "optimized/attention_tiles-inl.h"
#include "optimized/attention_work.h"
#include "optimized/simd/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of a block of values, by two vectors of channels. A group of eight heads
// is two even blocks where six rows fill the registers: 8 = 6 + 2 would leave
// the second one waiting for its own sums. 4 x 3 vectors spill with clang 19.
inline constexpr size_t kDirectRows = kRowBlock < 8 ? 4 : 8;

// Keys whose values are used together, a few channels of all of them at a time:
// they stay in the first cache level (32 x 128 bf16 are 8 KiB) while the blocks
// of rows pass.
inline constexpr size_t kValueKeys = 32;

// Values where they lie, in their lane.
template <typename V>
struct InPlaceDot : F32Dot {
  using Value = V;
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D df, const V* x) {
    return LoadWidened(df, x);
  }
};

// Weights of worker.weights, from key `key` of the tile on, times `rows` of
// values, which lie together: those of all rows of the block.
template <typename T, class D>
void TimesValueRows(D df, const AttentionJob& job, const Rows<T>& rows,
                    size_t left, size_t key, size_t block_rows,
                    Worker& worker) {
  const size_t lanes = hn::Lanes(df);
  const auto pitch = static_cast<size_t>(job.padded_values);
  const auto stride = static_cast<size_t>(job.weight_stride);
  const auto next = static_cast<size_t>(rows.of.next);
  const T* const first = rows.at(0);
  // The last channels, less than a vector of them, from a copy.
  const size_t whole = rows.channels / lanes * lanes;
  worker.wide_rows.resize(kValueKeys * lanes);
  float* rest = worker.wide_rows.data();
  if (whole < rows.channels) {
    const Rows<T> last = {rows.of.From(static_cast<int64_t>(whole)), rows.begin,
                          rows.count, rows.channels - whole};
    WidenRows(last, 0, rest, lanes);
  }
  constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
  const auto row_bytes = static_cast<int64_t>(rows.channels) * kBytes;
  const auto coming =
      static_cast<int64_t>(std::min(rows.count, left - rows.count));
  LinesAhead ahead(coming > 0 ? rows.at(rows.count) : first,
                   rows.of.next * kBytes, coming, row_bytes);
  const size_t panels = CeilDiv(block_rows, kDirectRows) *
                        std::max<size_t>(whole / (2 * lanes), 1);
  const int64_t share =
      CeilDiv(coming * CeilDiv(row_bytes, LinesAhead::kPortion),
              static_cast<int64_t>(panels));
  for (size_t r = 0; r < block_rows; r += kDirectRows) {
    const float* p = worker.weights.data() + r * stride + key;
    float* acc = worker.acc.data() + r * pitch;
    const size_t some = std::min(kDirectRows, block_rows - r);
    WithRows(static_cast<int64_t>(some), [&]<int kRows>() HWY_ATTR {
      const auto panel = [&]<class Dot, int kVectors>(
                             const typename Dot::Value* v, size_t v_stride,
                             size_t c) HWY_ATTR {
        ahead.Ask(share);
        ValuePanel<Dot, kRows, kVectors>(df, p, stride, v, v_stride, rows.count,
                                         acc + c, pitch);
      };
      size_t c = 0;
      for (; c + 2 * lanes <= whole; c += 2 * lanes) {
        panel.template operator()<InPlaceDot<T>, 2>(first + c, next, c);
      }
      if (c < whole) {
        panel.template operator()<InPlaceDot<T>, 1>(first + c, next, c);
      }
      if (whole < rows.channels) {
        panel.template operator()<F32Dot, 1>(rest, lanes, whole);
      }
    });
  }
}

// Weights of worker.weights times the values of the block's keys.
template <typename T, class D>
void DirectValues(D df, const AttentionJob& job, const RowTile& tile,
                  Range keys, const Block& block, Worker& worker) {
  const KeyRows<T> v = job.Values<T>(tile.batch, tile.kv_head);
  const auto left = static_cast<size_t>(job.problem->kv_len - keys.begin);
  for (size_t key = block.begin; key < block.end;) {
    const int64_t first = keys.begin + static_cast<int64_t>(key);
    const auto together = static_cast<size_t>(v.Together(first));
    const Rows<T> rows = {v, first,
                          std::min({kValueKeys, block.end - key, together}),
                          static_cast<size_t>(job.problem->value_dim)};
    TimesValueRows(df, job, rows, left - key, key, block.rows, worker);
    key += rows.count;
  }
}

// N9's eV of the tile's values.
template <typename T>
int ValueExponent(const AttentionJob& job, const RowTile& tile, Range keys) {
  const hn::ScalableTag<float> df;
  const hn::RebindToUnsigned<decltype(df)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const int64_t dim = job.problem->value_dim;
  LeastMagnitude<decltype(du)> least;
  const KeyRows<T> v = job.Values<T>(tile.batch, tile.kv_head);
  for (int64_t key = keys.begin; key < keys.end; ++key) {
    const T* row = v(key);
    int64_t c = 0;
    for (; c + lanes <= dim; c += lanes) {
      least.Add(hn::BitCast(du, LoadWidened(df, row + c)));
    }
    for (; c < dim; ++c) least.Add(ToFloat(row[c]));
  }
  return least.Exponent();
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
