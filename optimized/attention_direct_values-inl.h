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

// Rows of a block of values, by two vectors of channels. Where six rows fill
// the registers, a group of eight heads is two even blocks. With 8 = 6 + 2 the
// second block would wait for its own sums. 4 x 3 vectors spill with clang 19.
inline constexpr size_t kDirectRows = kRowBlock < 8 ? 4 : 8;

// The number of keys whose values are used together, a few channels of all of
// them at a time. They stay in the L1 cache (32 x 128 bf16 are 8 KiB) while the
// blocks of rows pass.
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

// Rows of values that are used together, as runs of rows that are a fixed
// distance apart. The sums stay in registers from one run to the next. Without
// pages there is one run.
template <typename T>
struct ValuesTogether {
  RunOfValues<T> runs[kValueKeys];
  size_t count = 0;
  size_t rows = 0;

  // Takes as many of the rows from `key` to `end` as are used together.
  ValuesTogether(const KeyRows<T>& of, int64_t key, int64_t end) {
    end = std::min(end, of.keys);
    while (key < end && rows < kValueKeys) {
      const int64_t most = std::min(end - key, of.Together(key));
      const size_t steps =
          std::min(static_cast<size_t>(most), kValueKeys - rows);
      runs[count++] = {of(key), steps};
      rows += steps;
      key += static_cast<int64_t>(steps);
    }
  }

  // Prefetches the lines of one run after the other.
  class Ahead {
   public:
    Ahead(const ValuesTogether& of, int64_t next, int64_t bytes)
        : of_(of), next_(next), bytes_(bytes) {}
    HWY_INLINE void Ask(int64_t portions) {
      for (; portions > 0; --portions) {
        if (lines_.done()) {
          if (run_ == of_.count) return;
          const RunOfValues<T>& run = of_.runs[run_++];
          lines_ = LinesAhead(run.first, next_, static_cast<int64_t>(run.steps),
                              bytes_);
        }
        lines_.Ask(1);
      }
    }

   private:
    const ValuesTogether& of_;
    int64_t next_, bytes_;
    size_t run_ = 0;  // the next one to prefetch
    LinesAhead lines_;
  };
};

// Multiplies worker.weights by the values `now`, for all rows of the block. The
// weights begin at key `key` of the tile, the values at key `first` of the
// sequence. `then` is prefetched meanwhile.
template <typename T, class D>
void TimesValueRows(D df, const AttentionJob& job, const KeyRows<T>& v,
                    int64_t first, const ValuesTogether<T>& now,
                    const ValuesTogether<T>& then, size_t key,
                    size_t block_rows, Worker& worker) {
  const size_t lanes = hn::Lanes(df);
  const auto pitch = static_cast<size_t>(job.padded_values);
  const auto stride = static_cast<size_t>(job.weight_stride);
  const auto channels = static_cast<size_t>(job.problem->value_dim);
  const auto next = static_cast<size_t>(v.next);
  // The last channels, less than a vector of them, from a copy.
  const size_t whole = channels / lanes * lanes;
  worker.wide_rows.resize(kValueKeys * lanes);
  float* rest = worker.wide_rows.data();
  if (whole < channels) {
    RowsInOrder<T> last(v.From(static_cast<int64_t>(whole)), channels - whole,
                        first, 0, 0);
    WidenRows(last, now.rows, rest, lanes);
  }
  constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
  const auto row_bytes = static_cast<int64_t>(channels) * kBytes;
  typename ValuesTogether<T>::Ahead ahead(then, v.next * kBytes, row_bytes);
  const size_t panels = CeilDiv(block_rows, kDirectRows) *
                        std::max<size_t>(whole / (2 * lanes), 1);
  const int64_t share = CeilDiv(static_cast<int64_t>(then.rows) *
                                    CeilDiv(row_bytes, LinesAhead::kPortion),
                                static_cast<int64_t>(panels));
  for (size_t r = 0; r < block_rows; r += kDirectRows) {
    const float* p = worker.weights.data() + r * stride + key;
    float* acc = worker.acc.data() + r * pitch;
    const size_t some = std::min(kDirectRows, block_rows - r);
    WithRows(static_cast<int64_t>(some), [&]<int kRows>() HWY_ATTR {
      const auto panel = [&]<int kVectors>(size_t c) HWY_ATTR {
        ahead.Ask(share);
        ValuePanel<InPlaceDot<T>, kRows, kVectors>(
            df, p, stride, now.runs, now.count, c, next, acc + c, pitch);
      };
      size_t c = 0;
      for (; c + 2 * lanes <= whole; c += 2 * lanes) {
        panel.template operator()<2>(c);
      }
      if (c < whole) panel.template operator()<1>(c);
      if (whole == channels) return;
      ahead.Ask(share);
      ValuePanel<F32Dot, kRows, 1>(df, p, stride, rest, lanes, now.rows,
                                   acc + whole, pitch);
    });
  }
}

template <typename T, class D>
void TimesValues(D df, const AttentionJob& job, const KeyRows<T>& v, Range keys,
                 const Block& block, Worker& worker) {
  // Rows between those in use and those that are prefetched. The hardware does
  // not prefetch across pages, and an address that misses the TLB arrives late.
  const int64_t between = v.table == nullptr ? 0 : 2 * kValueKeys;
  const auto begin = keys.begin + static_cast<int64_t>(block.begin);
  const int64_t end =
      std::min(keys.begin + static_cast<int64_t>(block.end), v.keys);
  for (int64_t key = begin; key < end;) {
    const ValuesTogether<T> now(v, key, end);
    const int64_t next = key + static_cast<int64_t>(now.rows);
    const int64_t kv_len = job.problem->kv_len;
    const ValuesTogether<T> then(v, std::min(next + between, kv_len), kv_len);
    TimesValueRows(df, job, v, key, now, then,
                   static_cast<size_t>(key - keys.begin), block.rows, worker);
    key = next;
  }
}

// Multiplies weights by `count` rows of values in f32, padded_values apart. The
// weights begin at key `key` of the tile.
inline void TimesWideRows(const AttentionJob& job, const float* values,
                          size_t count, size_t key, size_t block_rows,
                          Worker& worker) {
  const hn::ScalableTag<float> df;
  const size_t panel = 2 * hn::Lanes(df);
  const auto pitch = static_cast<size_t>(job.padded_values);
  const auto stride = static_cast<size_t>(job.weight_stride);
  for (size_t r = 0; r < block_rows; r += kDirectRows) {
    const float* p = worker.weights.data() + r * stride + key;
    float* acc = worker.acc.data() + r * pitch;
    const size_t some = std::min(kDirectRows, block_rows - r);
    WithRows(static_cast<int64_t>(some), [&]<int kRows>() HWY_ATTR {
      size_t c = 0;
      for (; c + panel <= pitch; c += panel) {
        ValuePanel<F32Dot, kRows, 2>(df, p, stride, values + c, pitch, count,
                                     acc + c, pitch);
      }
      if (c == pitch) return;
      ValuePanel<F32Dot, kRows, 1>(df, p, stride, values + c, pitch, count,
                                   acc + c, pitch);
    });
  }
}

// Does as TimesValues for lanes that the kernels have no code for. Each value
// is widened once, to rows that stay in a cache.
template <typename T>
void WidenAndTimesValues(const AttentionJob& job, const KeyRows<T>& v,
                         Range keys, const Block& block, Worker& worker) {
  const auto pitch = static_cast<size_t>(job.padded_values);
  worker.wide_rows.resize(kValueKeys * pitch);
  float* wide = worker.wide_rows.data();
  const auto begin = keys.begin + static_cast<int64_t>(block.begin);
  const int64_t end =
      std::min(keys.begin + static_cast<int64_t>(block.end), v.keys);
  constexpr auto kTogether = static_cast<int64_t>(kValueKeys);
  RowsInOrder<T> rows(v, static_cast<size_t>(job.problem->value_dim), begin,
                      v.table == nullptr ? kTogether : 3 * kTogether,
                      job.problem->kv_len);
  for (int64_t key = begin; key < end; key += kTogether) {
    const auto count = static_cast<size_t>(std::min(kTogether, end - key));
    WidenRows(rows, count, wide, pitch);
    TimesWideRows(job, wide, count, static_cast<size_t>(key - keys.begin),
                  block.rows, worker);
  }
}

// Weights of worker.weights times the values of the block's keys.
template <typename T>
void DirectValues(const AttentionJob& job, const RowTile& tile, Range keys,
                  const Block& block, Worker& worker) {
  const KeyRows<T> v = job.Values<T>(tile.batch, tile.kv_head);
  if constexpr (sizeof(T) > 1) {
    TimesValues(hn::ScalableTag<float>(), job, v, keys, block, worker);
  } else {
    WidenAndTimesValues(job, v, keys, block, worker);
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
