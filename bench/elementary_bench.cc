// Cost of the elementary functions' vector twins, per target, on arrays in L1.
//
// Counter `cycles`: clock cycles per f32 element, the clock taken from the FMA
// peak measured right before and after (bench/peak.h). A name ends in the
// vectors side by side: /1 is a plain loop, /4 four vectors in its body. Also
// the peaks themselves, and reads from L1, L2, L3 and DRAM (by array size).
#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/elementary_bench.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/simd/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace twin = optimized::HWY_NAMESPACE;

// count is a multiple of four vectors.
template <int kVectors, class F>
HWY_INLINE void Map(const float* HWY_RESTRICT x, float* HWY_RESTRICT y,
                    size_t count, const F& f) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < count; i += kVectors * lanes) {
    const auto y0 = f(d, hn::Load(d, x + i));
    if constexpr (kVectors == 1) {
      hn::Store(y0, d, y + i);
    } else {
      const auto y1 = f(d, hn::Load(d, x + i + lanes));
      const auto y2 = f(d, hn::Load(d, x + i + 2 * lanes));
      const auto y3 = f(d, hn::Load(d, x + i + 3 * lanes));
      hn::Store(y0, d, y + i);
      hn::Store(y1, d, y + i + lanes);
      hn::Store(y2, d, y + i + 2 * lanes);
      hn::Store(y3, d, y + i + 3 * lanes);
    }
  }
}

#define LOCKSTEP_KERNEL(NAME)                                         \
  void NAME##1(const float* x, float* y, size_t count) {              \
    Map<1>(x, y, count,                                               \
           [](auto d, auto v) HWY_ATTR { return twin::NAME(d, v); }); \
  }                                                                   \
  void NAME##4(const float* x, float* y, size_t count) {              \
    Map<4>(x, y, count,                                               \
           [](auto d, auto v) HWY_ATTR { return twin::NAME(d, v); }); \
  }
LOCKSTEP_KERNEL(Exp2Core)
LOCKSTEP_KERNEL(Exp2)
LOCKSTEP_KERNEL(Exp)
LOCKSTEP_KERNEL(Log2Core)
LOCKSTEP_KERNEL(Log2)
LOCKSTEP_KERNEL(TanhCore)
LOCKSTEP_KERNEL(Tanh)
LOCKSTEP_KERNEL(Sigmoid)
LOCKSTEP_KERNEL(RoundToBf16LaneCore)
LOCKSTEP_KERNEL(RoundToBf16Lane)
#undef LOCKSTEP_KERNEL

}  // namespace lockstep::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>
#include <string>

#include "bench/measure.h"
#include "bench/peak.h"
#include "bench/quiet.h"
#include "hwy/aligned_allocator.h"

namespace lockstep::bench {
namespace {

constexpr size_t kCount = 2048;  // two arrays of 8 KiB
constexpr int kCalls = 16;
constexpr double kPeakSeconds = 0.002;

using Kernel = void (*)(const float*, float*, size_t);

void RunKernel(benchmark::State& state, Kernel kernel, int64_t target,
               float low, float high) {
  const auto x = hwy::AllocateAligned<float>(kCount);
  const auto y = hwy::AllocateAligned<float>(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    x[i] = low + (high - low) * static_cast<float>(i) / float{kCount};
  }
  // The fastest batch of some ten microseconds: what an idle core takes, even
  // where other work shares it; the peaks are measured the same way.
  const auto batch = [&] {
    const double start = Now();
    for (int call = 0; call < kCalls; ++call) {
      kernel(x.get(), y.get(), kCount);
      benchmark::ClobberMemory();
    }
    return Now() - start;
  };
  const double before = MeasureFmaPeak(target, kPeakSeconds);
  double fastest = std::numeric_limits<double>::infinity();
  for (auto _ : state) fastest = std::min(fastest, batch());
  const double after = MeasureFmaPeak(target, kPeakSeconds);
  const double peak = std::max(before, after);
  const double elements = double{kCalls} * double{kCount};
  state.counters["cycles"] =
      fastest / elements * CyclesPerSecond(peak, LanesOf(target));
  state.counters["fma_gflops"] = peak / 1e9;
}

void Register(const std::string& name, Kernel kernel, int64_t target, float low,
              float high) {
  benchmark::RegisterBenchmark(name.c_str(), RunKernel, kernel, target, low,
                               high);
}

HWY_EXPORT(Exp2Core1);
HWY_EXPORT(Exp2Core4);
HWY_EXPORT(Exp21);
HWY_EXPORT(Exp24);
HWY_EXPORT(Exp1);
HWY_EXPORT(Exp4);
HWY_EXPORT(Log2Core1);
HWY_EXPORT(Log2Core4);
HWY_EXPORT(Log21);
HWY_EXPORT(Log24);
HWY_EXPORT(TanhCore1);
HWY_EXPORT(TanhCore4);
HWY_EXPORT(Tanh1);
HWY_EXPORT(Tanh4);
HWY_EXPORT(Sigmoid1);
HWY_EXPORT(Sigmoid4);
HWY_EXPORT(RoundToBf16LaneCore1);
HWY_EXPORT(RoundToBf16LaneCore4);
HWY_EXPORT(RoundToBf16Lane1);
HWY_EXPORT(RoundToBf16Lane4);

void RegisterTarget(int64_t target) {
  const size_t at = optimized::DispatchIndex(target);
  const std::string prefix = std::string(hwy::TargetName(target)) + "/";
#define LOCKSTEP_REGISTER(NAME, LOW, HIGH)                                    \
  Register(prefix + #NAME "/1", HWY_DISPATCH_TABLE(NAME##1)[at], target, LOW, \
           HIGH);                                                             \
  Register(prefix + #NAME "/4", HWY_DISPATCH_TABLE(NAME##4)[at], target, LOW, \
           HIGH)
  LOCKSTEP_REGISTER(Exp2Core, -0.5f, 0.5f);
  LOCKSTEP_REGISTER(Exp2, -20.0f, 20.0f);
  LOCKSTEP_REGISTER(Exp, -20.0f, 20.0f);
  LOCKSTEP_REGISTER(Log2Core, 0.71f, 1.41f);
  LOCKSTEP_REGISTER(Log2, 0.1f, 100.0f);
  LOCKSTEP_REGISTER(TanhCore, -10.0f, 10.0f);
  LOCKSTEP_REGISTER(Tanh, -10.0f, 10.0f);
  LOCKSTEP_REGISTER(Sigmoid, -10.0f, 10.0f);
  LOCKSTEP_REGISTER(RoundToBf16LaneCore, -10.0f, 10.0f);
  LOCKSTEP_REGISTER(RoundToBf16Lane, -10.0f, 10.0f);
#undef LOCKSTEP_REGISTER
}

void ReportReads(benchmark::State& state, int64_t target, size_t bytes) {
  double best = 0.0;
  for (auto _ : state) best = MeasureReadBandwidth(target, bytes, 0.02);
  state.counters["GB/s"] = best / 1e9;
}

void ReportPeaks(benchmark::State& state, int64_t target) {
  double fma = 0.0;
  double dot = 0.0;
  for (auto _ : state) {
    fma = MeasureFmaPeak(target, 0.02);
    dot = MeasureBf16DotPeak(target, 0.02);
  }
  state.counters["fma_gflops"] = fma / 1e9;
  state.counters["bf16_dot_gflops"] = dot / 1e9;
}

void RegisterPeaks(int64_t target) {
  const std::string prefix = std::string(hwy::TargetName(target)) + "/";
  benchmark::RegisterBenchmark((prefix + "peaks").c_str(), ReportPeaks, target)
      ->Iterations(1);
  for (const size_t kib : {16, 256, 8 << 10, 256 << 10}) {
    const std::string name = prefix + "reads/" + std::to_string(kib) + "KiB";
    benchmark::RegisterBenchmark(name.c_str(), ReportReads, target, kib << 10)
        ->Iterations(1);
  }
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const int64_t target : lockstep::optimized::CompiledTargets()) {
    if (!(hwy::SupportedTargets() & target)) continue;
    lockstep::bench::RegisterPeaks(target);
    lockstep::bench::RegisterTarget(target);
  }
  const lockstep::bench::WithoutLibraryWarning quiet;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
#endif  // HWY_ONCE
