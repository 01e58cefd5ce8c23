// Neighbouring lanes as pairs.
#if defined(LOCKSTEP_OPTIMIZED_SIMD_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_SIMD_PAIRS_INL_H_
#undef LOCKSTEP_OPTIMIZED_SIMD_PAIRS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_SIMD_PAIRS_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The even or the odd lane of each pair in both of its lanes.
template <class V>
HWY_INLINE V FirstOfPairs(V x) {
  return hn::DupEven(x);
}

template <class V>
HWY_INLINE V SecondOfPairs(V x) {
  return hn::DupOdd(x);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
