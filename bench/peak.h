// What the machine can do: the peaks that every other figure is a ratio to.
// Clocks drift, so measure them in the same run, interleaved with the work.
#ifndef LOCKSTEP_BENCH_PEAK_H_
#define LOCKSTEP_BENCH_PEAK_H_

#include <cstddef>
#include <cstdint>

namespace lockstep::bench {

// `target` is one Highway target bit, compiled and supported here
// (optimized/simd/targets.h). `seconds` is how long to measure, roughly. One
// thread.

// f32 fused multiply-adds on registers, in flop/s (two for each lane).
double MeasureFmaPeak(int64_t target, double seconds);

// VDPBF16PS on registers, in flop/s (four for each f32 lane); 0 where the
// target has no native bf16 dot product.
double MeasureBf16DotPeak(int64_t target, double seconds);

// Reads of an array of `bytes` (rounded up to 4 KiB), again and again, in
// bytes/s.
double MeasureReadBandwidth(int64_t target, size_t bytes, double seconds);

// f32 lanes of the target's full vectors.
size_t LanesOf(int64_t target);

// Clock cycles in a second, taken as half the vector FMAs in a second: every
// CPU we know starts two in a cycle.
inline double CyclesPerSecond(double fma_peak, size_t lanes) {
  return fma_peak / (4.0 * static_cast<double>(lanes));
}

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_PEAK_H_
