// The bf16 dot instruction, and the only home of operations whose order of
// summation is the hardware's (N5).
#if defined(LOCKSTEP_OPTIMIZED_SIMD_PACKED_DOT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_SIMD_PACKED_DOT_INL_H_
#undef LOCKSTEP_OPTIMIZED_SIMD_PACKED_DOT_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_SIMD_PACKED_DOT_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// acc + a . b per lane, for pairs of bf16 in u32 lanes: two fused
// multiply-adds, the upper halves first, then the lower (N5).
template <class D, class Pairs = hn::Vec<hn::RebindToUnsigned<D>>>
HWY_INLINE hn::Vec<D> UnpackedDot(D df, hn::Vec<D> acc, Pairs a, Pairs b) {
  const hn::RebindToUnsigned<D> du;
  const auto upper = hn::Set(du, 0xffff0000u);
  acc = hn::MulAdd(hn::BitCast(df, hn::And(a, upper)),
                   hn::BitCast(df, hn::And(b, upper)), acc);
  return hn::MulAdd(hn::BitCast(df, hn::ShiftLeft<16>(a)),
                    hn::BitCast(df, hn::ShiftLeft<16>(b)), acc);
}

// The same as one instruction, which also flushes subnormal inputs and results
// to zero whatever MXCSR says. By its intrinsic: Highway's portable name for
// it, ReorderWidenMulAccumulate, may sum in another order on another target.
#if HWY_TARGET == HWY_AVX3_ZEN4 || HWY_TARGET == HWY_AVX3_SPR
inline constexpr bool kHasPackedDot = true;
template <class D, class Pairs = hn::Vec<hn::RebindToUnsigned<D>>>
HWY_INLINE hn::Vec<D> PackedDot(D /*df*/, hn::Vec<D> acc, Pairs a, Pairs b) {
  return hn::Vec<D>{_mm512_dpbf16_ps(acc.raw, reinterpret_cast<__m512bh>(a.raw),
                                     reinterpret_cast<__m512bh>(b.raw))};
}
#else
inline constexpr bool kHasPackedDot = false;
template <class D, class Pairs = hn::Vec<hn::RebindToUnsigned<D>>>
HWY_INLINE hn::Vec<D> PackedDot(D df, hn::Vec<D> acc, Pairs a, Pairs b) {
  return UnpackedDot(df, acc, a, b);
}
#endif

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
