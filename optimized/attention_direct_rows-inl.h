// Rows of keys and values that are read where they lie: copies of some of them
// in f32, which ask for the rows that come next.
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

// `rows` -> f32 rows `pitch` apart, zero to a whole vector. Read in order,
// once, because the hardware fetches ahead only then: rows of 256 bytes visited
// in columns came at a third of that speed. It stops at the last row, so as
// many rows after it are asked for here, one for each row read; there are
// `left` rows before the tensor ends.
template <typename T>
HWY_INLINE void WidenRows(const Rows<T>& rows, size_t left,
                          float* HWY_RESTRICT out, size_t pitch) {
  const hn::ScalableTag<float> df;
  const size_t lanes = hn::Lanes(df);
  const size_t n = rows.channels;
  for (size_t r = 0; r < rows.count; ++r, out += pitch) {
    const T* HWY_RESTRICT x = rows.at(r);
    if (rows.count + r < left) AskForRow(rows.at(rows.count + r), n);
    size_t c = 0;
    for (; c + lanes <= n; c += lanes) {
      hn::Store(LoadWidened(df, x + c), df, out + c);
    }
    if (c == n) continue;
    hn::Store(hn::Zero(df), df, out + c);
    for (; c < n; ++c) out[c] = ToFloat(x[c]);
  }
}

// Pairs of rows -> f32, the channels of both in turns, 2 * kDirectHeadDim
// apart; the last of an odd number stands twice. Reads ahead as WidenRows does.
template <typename T>
HWY_INLINE void WidenPairs(const Rows<T>& rows, size_t left,
                           float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> df;
  const size_t lanes = hn::Lanes(df);
  for (size_t r = 0; r < rows.count; r += 2, out += 2 * kDirectHeadDim) {
    const T* a = rows.at(r);
    const T* b = r + 1 < rows.count ? rows.at(r + 1) : a;
    for (const size_t ahead : {rows.count + r, rows.count + r + 1}) {
      if (ahead < left) AskForRow(rows.at(ahead), rows.channels);
    }
    size_t c = 0;
    for (; c + lanes <= rows.channels; c += lanes) {
      StoreInTurns(df, LoadWidened(df, a + c), LoadWidened(df, b + c),
                   out + 2 * c);
    }
    for (; c < rows.channels; ++c) {
      out[2 * c] = ToFloat(a[c]);
      out[2 * c + 1] = ToFloat(b[c]);
    }
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
