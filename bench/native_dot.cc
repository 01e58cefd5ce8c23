#include "bench/native_dot.h"

#define LOCKSTEP_DOT_TARGET
#include "optimized/simd/targets.h"

#if defined(__x86_64__) && !defined(LOCKSTEP_ONE_TARGET)
#include "bench/chains-inl.h"
#include "hwy/highway.h"
#include "optimized/attention_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace tiles = optimized::HWY_NAMESPACE;

constexpr size_t kSteps = 128;
constexpr double kTileFlop = 8.0 * tiles::kRowBlock * kSteps * 16;

double RunDots(size_t steps, float* sink) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto a = hn::Set(du, 0x3f003f00u);
  const auto b = hn::Set(du, 0x3a003a00u);
  return 4.0 * RunChains(
                   d, steps,
                   [&](auto c)
                       HWY_ATTR { return tiles::PackedDot(d, c, a, b); },
                   sink);
}

double ScoreTile(const float* a, const float* b, float* c) {
  const hn::ScalableTag<float> df;
  tiles::ScorePanel<tiles::PairDot<true>, tiles::kRowBlock, 2>(
      df, reinterpret_cast<const uint32_t*>(a),
      reinterpret_cast<const uint32_t*>(b), kSteps, c, kSteps);
  return kTileFlop;
}

double ValueTile(const float* a, const float* b, float* c) {
  const hn::ScalableTag<float> df;
  tiles::ValuePanel<tiles::PairDot<true>, tiles::kRowBlock, 2>(
      df, reinterpret_cast<const uint32_t*>(a), kSteps,
      reinterpret_cast<const uint32_t*>(b), 2 * hn::Lanes(df), kSteps, c,
      kSteps);
  return kTileFlop;
}

}  // namespace lockstep::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace lockstep::bench {

double RunBf16Dot(size_t steps, float* sink) {
  return HWY_NAMESPACE::RunDots(steps, sink);
}
double ScoreBf16(const float* a, const float* b, float* c) {
  return HWY_NAMESPACE::ScoreTile(a, b, c);
}
double ValueBf16(const float* a, const float* b, float* c) {
  return HWY_NAMESPACE::ValueTile(a, b, c);
}

}  // namespace lockstep::bench

#else

namespace lockstep::bench {
double RunBf16Dot(size_t, float*) { return 0.0; }
double ScoreBf16(const float*, const float*, float*) { return 0.0; }
double ValueBf16(const float*, const float*, float*) { return 0.0; }
}  // namespace lockstep::bench

#endif
