// Rows side by side become columns: how panels with keys in lanes are filled
// from rows with channels in lanes.
#if defined(LOCKSTEP_OPTIMIZED_SIMD_TRANSPOSE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_SIMD_TRANSPOSE_INL_H_
#undef LOCKSTEP_OPTIMIZED_SIMD_TRANSPOSE_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_SIMD_TRANSPOSE_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows and columns of a block; 128 bits are in every vector target.
inline constexpr size_t kQuad = 4;

// In every block of 128 bits, each for itself: block k of rows[i] becomes
// {rows[0], rows[1], rows[2], rows[3]} at 4 k + i.
template <class D, class V>
HWY_INLINE void TransposeQuads(D d, V* rows) {
  const V low_even = hn::InterleaveLower(d, rows[0], rows[2]);
  const V low_odd = hn::InterleaveLower(d, rows[1], rows[3]);
  const V high_even = hn::InterleaveUpper(d, rows[0], rows[2]);
  const V high_odd = hn::InterleaveUpper(d, rows[1], rows[3]);
  rows[0] = hn::InterleaveLower(d, low_even, low_odd);
  rows[1] = hn::InterleaveUpper(d, low_even, low_odd);
  rows[2] = hn::InterleaveLower(d, high_even, high_odd);
  rows[3] = hn::InterleaveUpper(d, high_even, high_odd);
}

// a, b, c, e [4 lanes of 32 bits] -> out[i * stride + {0, 1, 2, 3}] =
// {a[i], b[i], c[i], e[i]}.
template <class D, class V, typename T>
HWY_INLINE void StoreTransposed(D d, V a, V b, V c, V e, T* HWY_RESTRICT out,
                                size_t stride) {
  V rows[kQuad] = {a, b, c, e};
  TransposeQuads(d, rows);
  for (size_t i = 0; i < kQuad; ++i) hn::StoreU(rows[i], d, out + i * stride);
}

// Pairs of f32, {a[0], a[1], b[0], b[1]} -> out and {a[2], a[3], b[2], b[3]} ->
// out + stride.
HWY_INLINE void StoreTransposedPairs(const float* a, const float* b, float* out,
                                     size_t stride) {
  const hn::FixedTag<float, kQuad> d;
  const hn::Repartition<uint64_t, decltype(d)> of_pairs;
  const auto first = hn::BitCast(of_pairs, hn::LoadU(d, a));
  const auto second = hn::BitCast(of_pairs, hn::LoadU(d, b));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(of_pairs, first, second)), d,
             out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(of_pairs, first, second)), d,
             out + stride);
}

// The lanes of a and b in turns: a[0], b[0], a[1] ... -> out [2 vectors].
template <class D, class V>
HWY_INLINE void StoreInTurns(D d, V a, V b, float* HWY_RESTRICT out) {
  hn::Store(hn::InterleaveWholeLower(d, a, b), d, out);
  hn::Store(hn::InterleaveWholeUpper(d, a, b), d, out + hn::Lanes(d));
}

// Transposes as many rows of f32 as a vector has lanes, in one, two or four
// blocks of 128 bits: element j of rows[i] and element i of rows[j] are
// exchanged.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void TransposeSquare(D d, V* rows) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  for (size_t i = 0; i < kLanes; i += kQuad) TransposeQuads(d, rows + i);
  if constexpr (kLanes == 2 * kQuad) {
    for (size_t i = 0; i < kQuad; ++i) {
      const V low = rows[i], high = rows[kQuad + i];
      rows[i] = hn::ConcatLowerLower(d, high, low);
      rows[kQuad + i] = hn::ConcatUpperUpper(d, high, low);
    }
  }
  if constexpr (kLanes == 4 * kQuad) {
    for (size_t i = 0; i < kQuad; ++i) {
      V* r = rows + i;
      const V a = hn::ConcatLowerLower(d, r[2 * kQuad], r[0]);
      const V b = hn::ConcatLowerLower(d, r[3 * kQuad], r[kQuad]);
      const V c = hn::ConcatUpperUpper(d, r[2 * kQuad], r[0]);
      const V e = hn::ConcatUpperUpper(d, r[3 * kQuad], r[kQuad]);
      r[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
      r[kQuad] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
      r[2 * kQuad] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(e), c);
      r[3 * kQuad] = hn::OddEvenBlocks(e, hn::SwapAdjacentBlocks(c));
    }
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
