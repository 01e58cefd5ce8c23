// Elements of f16 in vectors, on every target that runs here: widening,
// rounding and stores against the scalar definitions, for every f16 and every
// tie, also while the processor flushes subnormal numbers.
#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/optimized/lanes_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/simd/lanes-inl.h"
#include "reference/elementary.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace twin = optimized::HWY_NAMESPACE;

void WidenHalves(const F16* x, size_t count, float* wide) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(twin::LoadWidened(d, x + i), d, wide + i);
  }
}

void RoundToHalves(const float* x, size_t count, float* rounded) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(twin::RoundToLane(d, Lane::kF16, hn::LoadU(d, x + i)), d,
               rounded + i);
  }
}

void RoundWeights(const float* x, size_t count, float* rounded) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(twin::RoundWeight(d, Lane::kF16, hn::LoadU(d, x + i)), d,
               rounded + i);
  }
}

void StoreHalves(const float* x, int64_t count, int64_t stride, F16* to) {
  twin::StoreRounded(x, count, stride, to);
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "optimized/simd/flush_scope.h"
#include "tests/support/dispatch_indices.h"

namespace lockstep {
namespace {

using test::SupportedIndices;

HWY_EXPORT(WidenHalves);
HWY_EXPORT(RoundToHalves);
HWY_EXPORT(RoundWeights);
HWY_EXPORT(StoreHalves);

std::vector<F16> AllHalves() {
  std::vector<F16> x(0x10000);
  for (size_t i = 0; i < x.size(); ++i) x[i].bits = static_cast<uint16_t>(i);
  return x;
}

// Every f16, the tie above it, and the neighbours of both; f32's own subnormal
// numbers, and what lies between its exponents' ends and f16's.
std::vector<float> RoundingCases() {
  std::vector<float> x;
  for (const F16 half : AllHalves()) {
    const auto bits = std::bit_cast<uint32_t>(ToFloat(half));
    for (const uint32_t lower : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x1fffu}) {
      x.push_back(std::bit_cast<float>(bits | lower));
    }
    // Ties of f16's subnormal numbers are other bits of f32.
    const float size = ToFloat(F16{static_cast<uint16_t>(half.bits & 0x7fffu)});
    if (size >= 0x1p-14f) continue;
    for (const float more : {0x1p-25f, 0x1.fffffep-26f, 0x1.000002p-25f}) {
      x.push_back(size + more);
      x.push_back(-(size + more));
    }
  }
  for (uint32_t bits = 1; bits != 0; bits += 0x00a5a5a5u) {
    x.push_back(std::bit_cast<float>(bits));
    if (bits > 0xff000000u) break;
  }
  while (x.size() % 64 != 0) x.push_back(0.0f);
  return x;
}

uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }

// Elements on which the target differs from the definition.
int Differences(size_t target, const std::vector<float>& x) {
  std::vector<float> lane(x.size()), weight(x.size());
  HWY_DISPATCH_TABLE(RoundToHalves)[target](x.data(), x.size(), lane.data());
  HWY_DISPATCH_TABLE(RoundWeights)[target](x.data(), x.size(), weight.data());
  int different = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    different +=
        Bits(lane[i]) != Bits(reference::RoundToLane(x[i], Lane::kF16));
    // Only a scale makes a weight subnormal, and kernels round it in a way of
    // its own (key_scales_test).
    different +=
        std::fpclassify(x[i]) != FP_SUBNORMAL &&
        Bits(weight[i]) != Bits(reference::RoundWeight(x[i], Lane::kF16));
  }
  return different;
}

TEST(Lanes, HalvesRoundAsDefined) {
  const std::vector<float> x = RoundingCases();
  for (const size_t target : SupportedIndices()) {
    EXPECT_EQ(Differences(target, x), 0);
  }
}

TEST(Lanes, HalvesWidenExactly) {
  const std::vector<F16> x = AllHalves();
  for (const size_t target : SupportedIndices()) {
    std::vector<float> wide(x.size());
    HWY_DISPATCH_TABLE(WidenHalves)[target](x.data(), x.size(), wide.data());
    int different = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const float right = ToFloat(x[i]);
      // A signalling NaN may come out quiet.
      different +=
          right == right ? Bits(wide[i]) != Bits(right) : wide[i] == wide[i];
    }
    EXPECT_EQ(different, 0);
  }
}

// MXCSR's FTZ and DAZ do not affect conversions between f16 and f32.
TEST(Lanes, HalvesSurviveAProcessorThatFlushes) {
  const std::vector<F16> halves = AllHalves();
  std::vector<float> x;
  for (const F16 half : halves) x.push_back(ToFloat(half));
  for (const size_t target : SupportedIndices()) {
    std::vector<float> wide(x.size()), rounded(x.size());
    {
      const optimized::FlushScope flushing(true);
      HWY_DISPATCH_TABLE(WidenHalves)
      [target](halves.data(), x.size(), wide.data());
      HWY_DISPATCH_TABLE(RoundToHalves)
      [target](x.data(), x.size(), rounded.data());
    }
    int different = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] != x[i]) continue;
      different +=
          Bits(wide[i]) != Bits(x[i]) || Bits(rounded[i]) != Bits(x[i]);
    }
    EXPECT_EQ(different, 0);
  }
}

TEST(Lanes, StoresOfHalvesTakeAnyCountAndStride) {
  std::vector<float> x;
  for (int i = 0; i < 37; ++i) {
    x.push_back(reference::RoundToLane(0x1.8p-16f * static_cast<float>(i * i),
                                       Lane::kF16));
  }
  for (const size_t target : SupportedIndices()) {
    for (int64_t count = 0; count <= 37; ++count) {
      for (const int64_t stride : {1, 2}) {
        std::vector<F16> to(80, F16{0x1234});
        HWY_DISPATCH_TABLE(StoreHalves)
        [target](x.data(), count, stride, to.data());
        for (int64_t i = 0; i < 40; ++i) {
          const F16 right =
              i < count ? reference::RoundToF16(x[static_cast<size_t>(i)])
                        : F16{0x1234};
          ASSERT_EQ(to[static_cast<size_t>(i * stride)].bits, right.bits);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
#endif  // HWY_ONCE
