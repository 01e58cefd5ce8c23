// Register tiles per target.
#if defined(LOCKSTEP_OPTIMIZED_SIMD_REGISTERS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_SIMD_REGISTERS_INL_H_
#undef LOCKSTEP_OPTIMIZED_SIMD_REGISTERS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_SIMD_REGISTERS_INL_H_
#endif

#include "hwy/highway.h"

// Constants only, so no HWY_BEFORE_NAMESPACE: it would have nothing to apply
// to.
namespace lockstep::optimized::HWY_NAMESPACE {

// Rows of a register tile of rows x two vectors. Two FMA pipes of four cycles
// latency want at least eight accumulators; both FMA operands and the
// broadcast need three more registers. 16-register targets hold 6 x 2, the
// 8 x 2 tile would spill (33-65 % of peak); 32-register targets hold 8 x 2.
inline constexpr int kRowBlock = HWY_TARGET == HWY_AVX2 ? 6 : 8;

}  // namespace lockstep::optimized::HWY_NAMESPACE

#endif  // per-target include guard
