#include "bench/peak.h"

#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/peak.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "bench/chains-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

size_t Lanes() { return hn::Lanes(hn::ScalableTag<float>()); }

// `steps` fused multiply-adds on each chain; returns operations (flop). The
// operands, 0.999 and 0.001, come through memory: from constants clang saw that
// the chain from 1 stays 1 and dropped it, so that thirteen counted as
// fourteen.
double RunFma(size_t steps, float* sink) {
  const hn::ScalableTag<float> d;
  const auto a = hn::Set(d, sink[0]);
  const auto b = hn::Set(d, sink[1]);
  return 2.0 * RunChains(
                   d, steps,
                   [&](auto c) HWY_ATTR { return hn::MulAdd(c, a, b); }, sink);
}

// Reads count floats (a multiple of 1024); returns bytes.
double RunReads(const float* x, size_t count, float* sink) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d);
  auto b = a;
  auto c = a;
  auto e = a;
  for (size_t i = 0; i < count; i += 4 * lanes) {
    a = hn::Max(a, hn::Load(d, x + i));
    b = hn::Max(b, hn::Load(d, x + i + lanes));
    c = hn::Max(c, hn::Load(d, x + i + 2 * lanes));
    e = hn::Max(e, hn::Load(d, x + i + 3 * lanes));
  }
  hn::StoreU(hn::Max(hn::Max(a, b), hn::Max(c, e)), d, sink);
  return static_cast<double>(count) * 4.0;
}

}  // namespace lockstep::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <vector>

#include "bench/measure.h"
#include "bench/native_dot.h"
#include "hwy/aligned_allocator.h"
#include "optimized/attention_forward.h"

namespace lockstep::bench {
namespace {

HWY_EXPORT(Lanes);
HWY_EXPORT(RunFma);
HWY_EXPORT(RunReads);

// Best rate of `work` (which returns its amount) over at least five goes.
template <class F>
double BestRate(double seconds, const F& work) {
  const double end = Now() + seconds;
  double best = 0.0;
  for (int go = 0; go < 5 || Now() < end; ++go) {
    const double start = Now();
    const double amount = work();
    best = std::max(best, amount / (Now() - start));
  }
  return best;
}

constexpr size_t kSteps = 4000;  // about 10 microseconds
// One vector of the widest target. HWY_MAX_BYTES would be the baseline's here,
// 16 bytes, and the stores would run over.
constexpr size_t kSinkLanes = 64;

}  // namespace

size_t LanesOf(int64_t target) {
  return HWY_DISPATCH_TABLE(Lanes)[optimized::DispatchIndex(target)]();
}

double MeasureFmaPeak(int64_t target, double seconds) {
  const auto run = HWY_DISPATCH_TABLE(RunFma)[optimized::DispatchIndex(target)];
  std::vector<float> sink(kSinkLanes);
  return BestRate(seconds, [&] {
    sink[0] = 0.999f;
    sink[1] = 0.001f;
    return run(kSteps, sink.data());
  });
}

double MeasureBf16DotPeak(int64_t target, double seconds) {
  if (!optimized::NativeDotWorks(hwy::TargetName(target))) return 0.0;
  std::vector<float> sink(kSinkLanes);
  return BestRate(seconds, [&] { return RunBf16Dot(kSteps, sink.data()); });
}

double MeasureReadBandwidth(int64_t target, size_t bytes, double seconds) {
  const auto run =
      HWY_DISPATCH_TABLE(RunReads)[optimized::DispatchIndex(target)];
  const size_t count = std::max<size_t>(1, (bytes + 4095) / 4096) * 1024;
  const auto x = hwy::AllocateAligned<float>(count);
  std::fill(x.get(), x.get() + count, 1.0f);
  std::vector<float> sink(kSinkLanes);
  // A small array is read many times between two looks at the clock.
  const size_t times = std::max<size_t>(1, (size_t{1} << 20) / count);
  return BestRate(seconds, [&] {
    double read = 0.0;
    for (size_t i = 0; i < times; ++i) read += run(x.get(), count, sink.data());
    return read;
  });
}

}  // namespace lockstep::bench
#endif  // HWY_ONCE
