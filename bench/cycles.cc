#include "bench/cycles.h"

#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/cycles.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/simd/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace twin = optimized::HWY_NAMESPACE;

// count is a multiple of a vector's lanes.
void RunExp2(const float* x, float* y, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::Store(twin::Exp2Core(d, hn::Load(d, x + i)), d, y + i);
  }
}

void RunTanh(const float* x, float* y, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::Store(twin::TanhCore(d, hn::Load(d, x + i)), d, y + i);
  }
}

}  // namespace lockstep::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

#include "bench/measure.h"
#include "bench/peak.h"
#include "bench/statistics.h"
#include "hwy/aligned_allocator.h"

namespace lockstep::bench {
namespace {

HWY_EXPORT(RunExp2);
HWY_EXPORT(RunTanh);

constexpr size_t kElements = 2048;
constexpr int kTimes = 500;  // of the array, between two looks at the clock
constexpr int kGoes = 15;
constexpr double kPeakSeconds = 1e-3;

}  // namespace

double CyclesOf(const std::string& function) {
  int64_t target = 0;
  for (const int64_t bit : optimized::CompiledTargets()) {
    if (target == 0 && (hwy::SupportedTargets() & bit) != 0) target = bit;
  }
  if (target == 0) return 0;
  const size_t index = optimized::DispatchIndex(target);
  const auto run = function == "exp2" ? HWY_DISPATCH_TABLE(RunExp2)[index]
                                      : HWY_DISPATCH_TABLE(RunTanh)[index];
  const auto x = hwy::AllocateAligned<float>(kElements);
  const auto y = hwy::AllocateAligned<float>(kElements);
  for (size_t i = 0; i < kElements; ++i) {
    x[i] = 0.5f - static_cast<float>(i) / static_cast<float>(kElements);
  }
  std::vector<double> cycles;
  for (int go = 0; go < kGoes; ++go) {
    const double start = Now();
    for (int n = 0; n < kTimes; ++n) run(x.get(), y.get(), kElements);
    const double seconds = Now() - start;
    const double clock =
        CyclesPerSecond(MeasureFmaPeak(target, kPeakSeconds), LanesOf(target));
    cycles.push_back(seconds * clock / (kTimes * double{kElements}));
  }
  return MedianOf(std::move(cycles));
}

}  // namespace lockstep::bench
#endif  // HWY_ONCE
