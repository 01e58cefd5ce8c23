// Kernels over the vector twins, compiled once per target.
#include "optimized/simd/targets.h"
#include "tests/support/dispatch_indices.h"
#include "tests/support/elementary_sides.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/support/elementary_twins.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/simd/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::elementary::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace twin = optimized::HWY_NAMESPACE;

template <class F>
HWY_INLINE void RunChunk(uint32_t first, uint32_t* HWY_RESTRICT bits,
                         const F& function) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  for (size_t i = 0; i < kChunk; i += hn::Lanes(d)) {
    const auto x = hn::Iota(du, first + static_cast<uint32_t>(i));
    const auto y = function(d, hn::BitCast(d, x));
    hn::StoreU(hn::BitCast(du, y), du, bits + i);
  }
}

#define LOCKSTEP_KERNEL(NAME, EXPRESSION)                               \
  void NAME(uint32_t first, uint32_t* bits) {                           \
    RunChunk(first, bits,                                               \
             [](auto d, auto x) HWY_ATTR { return twin::EXPRESSION; }); \
  }
LOCKSTEP_KERNEL(RunExp2Core, Exp2Core(d, x))
LOCKSTEP_KERNEL(RunExp2, Exp2(d, x))
LOCKSTEP_KERNEL(RunExp, Exp(d, x))
LOCKSTEP_KERNEL(RunLog2SplitZ, SplitForLog2(d, x).z)
LOCKSTEP_KERNEL(RunLog2SplitK, SplitForLog2(d, x).k)
LOCKSTEP_KERNEL(RunLog2Core, Log2Core(d, x))
LOCKSTEP_KERNEL(RunLog2, Log2(d, x))
LOCKSTEP_KERNEL(RunTanhCore, TanhCore(d, x))
LOCKSTEP_KERNEL(RunTanh, Tanh(d, x))
LOCKSTEP_KERNEL(RunSigmoid, Sigmoid(d, x))
LOCKSTEP_KERNEL(RunRoundToBf16Lane, RoundToBf16Lane(d, x))
LOCKSTEP_KERNEL(RunSilu, Silu(d, x))
LOCKSTEP_KERNEL(RunSoftplus, Softplus(d, x))
LOCKSTEP_KERNEL(RunSinTurns, SinCosTurnsCore(d, x).sin)
LOCKSTEP_KERNEL(RunCosTurns, SinCosTurnsCore(d, x).cos)
#undef LOCKSTEP_KERNEL

Side MakeSide() {
  static constexpr Kernel kKernels[kFunctions] = {
      RunExp2Core,        RunExp2, RunExp,      RunLog2SplitZ, RunLog2SplitK,
      RunLog2Core,        RunLog2, RunTanhCore, RunTanh,       RunSigmoid,
      RunRoundToBf16Lane, RunSilu, RunSoftplus, RunSinTurns,   RunCosTurns};
  return {hwy::TargetName(HWY_TARGET), kKernels};
}

}  // namespace lockstep::elementary::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep::elementary {

HWY_EXPORT(MakeSide);

std::vector<Side> TwinSides() {
  std::vector<Side> sides;
  for (const size_t target : test::SupportedIndices()) {
    sides.push_back(HWY_DISPATCH_TABLE(MakeSide)[target]());
  }
  return sides;
}

}  // namespace lockstep::elementary
#endif  // HWY_ONCE
