// Four rows side by side become four columns: how panels with keys in lanes
// are filled from rows with channels in lanes.
#if defined(LOCKSTEP_OPTIMIZED_SIMD_TRANSPOSE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_SIMD_TRANSPOSE_INL_H_
#undef LOCKSTEP_OPTIMIZED_SIMD_TRANSPOSE_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_SIMD_TRANSPOSE_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows and columns of a block; 128 bits are in every vector target.
inline constexpr size_t kQuad = 4;

// a, b, c, e [4 lanes of 32 bits] -> out[i * stride + {0, 1, 2, 3}] =
// {a[i], b[i], c[i], e[i]}.
template <class D, class V, typename T>
HWY_INLINE void StoreTransposed(D d, V a, V b, V c, V e, T* HWY_RESTRICT out,
                                size_t stride) {
#if HWY_TARGET == HWY_SCALAR  // compiled, never run: its vectors have one lane
  (void)d, (void)a, (void)b, (void)c, (void)e, (void)out, (void)stride;
#else
  const V low_even = hn::InterleaveLower(d, a, c);
  const V low_odd = hn::InterleaveLower(d, b, e);
  const V high_even = hn::InterleaveUpper(d, a, c);
  const V high_odd = hn::InterleaveUpper(d, b, e);
  hn::StoreU(hn::InterleaveLower(d, low_even, low_odd), d, out);
  hn::StoreU(hn::InterleaveUpper(d, low_even, low_odd), d, out + stride);
  hn::StoreU(hn::InterleaveLower(d, high_even, high_odd), d, out + 2 * stride);
  hn::StoreU(hn::InterleaveUpper(d, high_even, high_odd), d, out + 3 * stride);
#endif
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
