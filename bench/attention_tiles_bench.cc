// The bare register tiles of attention_forward, operands in L1: what is left
// of the peak before softmax, packing and caches take their part. One row per
// tile and target of this CPU; build with another compiler for its rows.
#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/attention_tiles_bench.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/attention_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace tiles = optimized::HWY_NAMESPACE;

constexpr size_t kSteps = 128;  // head_dim of scores, keys of values

// Each runs one tile once and returns its flop. `a` broadcast operand, `b`
// panel, `c` output: kSteps * 32, kSteps * 64 and 8 * kSteps floats at least.
double ScoreF32(const float* a, const float* b, float* c) {
  const hn::ScalableTag<float> df;
  tiles::ScorePanel<tiles::F32Dot, tiles::kRowBlock, 2>(df, a, b, kSteps, c,
                                                        kSteps);
  return 4.0 * tiles::kRowBlock * kSteps * static_cast<double>(hn::Lanes(df));
}

double ValueF32(const float* a, const float* b, float* c) {
  const hn::ScalableTag<float> df;
  tiles::ValuePanel<tiles::F32Dot, tiles::kRowBlock, 2>(
      df, a, kSteps, b, 2 * hn::Lanes(df), kSteps, c, kSteps);
  return 4.0 * tiles::kRowBlock * kSteps * static_cast<double>(hn::Lanes(df));
}

}  // namespace lockstep::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/native_dot.h"
#include "bench/peak.h"
#include "bench/quiet.h"
#include "hwy/aligned_allocator.h"
#include "optimized/plan.h"

namespace lockstep::bench {
namespace {

HWY_EXPORT(ScoreF32);
HWY_EXPORT(ValueF32);

constexpr double kPeakSeconds = 0.02;
constexpr int kRuns = 4000;  // of a tile for one sample, about a millisecond

using Tile = double (*)(const float*, const float*, float*);

// Medians of samples, each beside its own measurement of the peak.
void RunTile(benchmark::State& state, Tile tile, int64_t target, bool bf16) {
  // Zeros: no value is slower than another, and nothing grows.
  const hwy::AlignedVector<float> a(size_t{1} << 13), b(size_t{1} << 13);
  hwy::AlignedVector<float> c(size_t{1} << 13);
  std::vector<double> rates, peaks, fractions;
  double best = 0;
  for (auto _ : state) {
    const double peak = bf16 ? MeasureBf16DotPeak(target, kPeakSeconds)
                             : MeasureFmaPeak(target, kPeakSeconds);
    double flop = 0;
    const double start = Now();
    for (int n = 0; n < kRuns; ++n) {
      flop += tile(a.data(), b.data(), c.data());
      benchmark::ClobberMemory();
    }
    rates.push_back(flop / (Now() - start));
    peaks.push_back(peak);
    fractions.push_back(rates.back() / peak);
    best = std::max(best, fractions.back());
  }
  state.counters["gflops"] = Median(std::move(rates)) * 1e-9;
  state.counters["peak_gflops"] = Median(std::move(peaks)) * 1e-9;
  state.counters["fraction"] = Median(std::move(fractions));
  state.counters["best"] = best;  // on a machine with neighbours: what it can
}

void Register(const std::string& name, Tile tile, const std::string& target,
              bool bf16) {
  const int64_t bit = optimized::TargetBit(target);
  benchmark::RegisterBenchmark(
      (name + "/" + target).c_str(),
      [=](benchmark::State& state) { RunTile(state, tile, bit, bf16); })
      ->Iterations(50)
      ->Unit(benchmark::kMillisecond);
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  int registered = 0;
  for (const optimized::Target& target : optimized::Targets()) {
    if (!target.supported) continue;
    const size_t at =
        optimized::DispatchIndex(optimized::TargetBit(target.name));
    Register("tile/score_f32", HWY_DISPATCH_TABLE(ScoreF32)[at], target.name,
             false);
    Register("tile/value_f32", HWY_DISPATCH_TABLE(ValueF32)[at], target.name,
             false);
    ++registered;
    if (!target.native_dot) continue;
    Register("tile/score_bf16", ScoreBf16, target.name, true);
    Register("tile/value_bf16", ValueBf16, target.name, true);
  }
  if (registered == 0) {
    std::fprintf(stderr, "this CPU supports none of the compiled targets\n");
    return 77;
  }
  const lockstep::bench::WithoutLibraryWarning quiet;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) { return lockstep::bench::Main(argc, argv); }

#endif  // HWY_ONCE
