// Rows of keys and values that are read in place. Some are copied to f32; a
// copy prefetches the rows that come next.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_ROWS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_ROWS_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_ROWS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "optimized/attention_pack-inl.h"
#include "optimized/attention_work.h"
#include "optimized/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of keys or values, contiguous along their channels, from `begin` on.
template <typename T>
struct Rows {
  KeyRows<T> of;
  int64_t begin;
  size_t count;
  size_t channels;

  const T* at(size_t r) const { return of(begin + static_cast<int64_t>(r)); }
};

// Asks for a row of n channels.
template <typename T>
HWY_INLINE void AskForRow(const T* row, size_t n) {
  for (size_t c = 0; c < n; c += 64 / sizeof(T)) hwy::Prefetch(row + c);
}

// Rows are read in order, each once. The hardware prefetches only within 4 KiB
// of contiguous memory, so each row read here prefetches a later one.
template <typename T>
class RowsInOrder {
 public:
  // Rows of `n` channels from key `begin` on. The rows `distance` further on
  // are prefetched, as far as the tensor has `keys` of them.
  RowsInOrder(const KeyRows<T>& of, size_t n, int64_t begin, int64_t distance,
              int64_t keys)
      : channels(n),
        rows_(of, begin),
        coming_(of, begin + distance),
        to_come_(keys - begin - distance) {}

  HWY_INLINE const T* Next() {
    if (to_come_ > 0) {
      --to_come_;
      AskForRow(coming_.Next(), channels);
    }
    return rows_.Next();
  }

  const size_t channels;

 private:
  RowWalk<T> rows_, coming_;
  int64_t to_come_;
};

// Widens `count` rows to f32 rows `pitch` apart, padded with zeros to a whole
// vector. Visiting rows of 256 bytes by columns ran at a third of this speed.
template <typename T>
HWY_INLINE void WidenRows(RowsInOrder<T>& rows, size_t count,
                          float* HWY_RESTRICT out, size_t pitch) {
  const hn::ScalableTag<float> df;
  const size_t lanes = hn::Lanes(df);
  const size_t n = rows.channels;
  for (size_t r = 0; r < count; ++r, out += pitch) {
    const T* HWY_RESTRICT x = rows.Next();
    size_t c = 0;
    for (; c + lanes <= n; c += lanes) {
      hn::Store(LoadWidened(df, x + c), df, out + c);
    }
    if (c == n) continue;
    hn::Store(hn::Zero(df), df, out + c);
    for (; c < n; ++c) out[c] = ToFloat(x[c]);
  }
}

// Widens pairs of rows to f32. The channels of both rows alternate, and pairs
// are 2 * kDirectHeadDim apart. An odd last row is paired with itself.
template <typename T>
HWY_INLINE void WidenPairs(RowsInOrder<T>& rows, size_t count,
                           float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> df;
  const size_t lanes = hn::Lanes(df);
  const size_t n = rows.channels;
  for (size_t r = 0; r < count; r += 2, out += 2 * kDirectHeadDim) {
    const T* const a = rows.Next();
    const T* const b = r + 1 < count ? rows.Next() : a;
    size_t c = 0;
    for (; c + lanes <= n; c += lanes) {
      StoreInTurns(df, LoadWidened(df, a + c), LoadWidened(df, b + c),
                   out + 2 * c);
    }
    for (; c < n; ++c) {
      out[2 * c] = ToFloat(a[c]);
      out[2 * c + 1] = ToFloat(b[c]);
    }
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
