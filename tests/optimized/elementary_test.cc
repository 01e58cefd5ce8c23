// The vector twins against the scalar functions, on every target that runs
// here: a sample of arguments bit for bit (elementary_sweep walks over all),
// and what only vectors have.
#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/optimized/elementary_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/simd/elementary-inl.h"
#include "reference/elementary.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace twin = optimized::HWY_NAMESPACE;

// Packs `count` f32 (a multiple of 64) to bf16, vector by vector.
void Pack(const float* x, size_t count, uint16_t* packed) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> du16;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto rounded = twin::RoundToBf16Lane(d, hn::LoadU(d, x + i));
    hn::StoreU(twin::PackBf16(d, rounded), du16, packed + i);
  }
}

void Widen(const uint16_t* bits, size_t count, float* x) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> du16;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(twin::WidenBf16(d, hn::LoadU(du16, bits + i)), d, x + i);
  }
}

void RoundWithoutNaN(const float* x, size_t count, float* rounded) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(twin::RoundToBf16LaneCore(d, hn::LoadU(d, x + i)), d,
               rounded + i);
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/dispatch_indices.h"
#include "tests/support/elementary_oracle.h"
#include "tests/support/elementary_sides.h"

namespace lockstep {
namespace {

using test::SupportedIndices;

HWY_EXPORT(Pack);
HWY_EXPORT(Widen);
HWY_EXPORT(RoundWithoutNaN);

bool IsNaNBits(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

// Chunks with the special values, and a regular sample of the rest.
std::vector<uint32_t> SampledChunks() {
  std::vector<uint32_t> chunks;
  for (const uint32_t sign : {0u, 0x80000000u}) {
    for (const uint32_t first :
         {0u, 0x00271400u, 0x007ffc00u, 0x3dfdac00u, 0x3effff00u, 0x3f350400u,
          0x3f7ffe00u, 0x41100000u, 0x42cff000u, 0x42fc0000u, 0x43000000u,
          0x43160000u, 0x7f7ffc00u, 0x7fbffc00u, 0x7ffff800u}) {
      chunks.push_back(sign | first);
    }
  }
  for (uint32_t i = 0; i < 2000; ++i) chunks.push_back(i * 2147489u);
  return chunks;
}

// Results that differ, NaN of a core counted as one class.
int CountDifferences(const elementary::Side& a, const elementary::Side& b,
                     int function) {
  const bool core =
      elementary::IsCore(static_cast<elementary::Function>(function));
  int different = 0;
  for (const uint32_t first : SampledChunks()) {
    uint32_t x[elementary::kChunk];
    uint32_t y[elementary::kChunk];
    a.kernels[function](first, x);
    b.kernels[function](first, y);
    for (size_t i = 0; i < elementary::kChunk; ++i) {
      const bool same_class = core && IsNaNBits(x[i]) && IsNaNBits(y[i]);
      different += !(x[i] == y[i] || same_class);
    }
  }
  return different;
}

TEST(ElementaryTwins, EverySupportedTargetHasASide) {
  EXPECT_FALSE(SupportedIndices().empty());
  EXPECT_EQ(elementary::TwinSides().size(), SupportedIndices().size());
}

// What the loops over sides leave out, by name.
class ElementaryTarget : public testing::TestWithParam<int64_t> {};

TEST_P(ElementaryTarget, Runs) {
  if (!(hwy::SupportedTargets() & GetParam())) {
    GTEST_SKIP() << "not run: " << hwy::TargetName(GetParam()) << " (this CPU)";
  }
}

INSTANTIATE_TEST_SUITE_P(All, ElementaryTarget,
                         testing::ValuesIn(optimized::CompiledTargets()),
                         [](const auto& info) {
                           return std::string(hwy::TargetName(info.param));
                         });

TEST(ElementaryTwins, BitsAreTheScalarOnes) {
  for (const elementary::Side& side : elementary::TwinSides()) {
    for (int f = 0; f < elementary::kFunctions; ++f) {
      EXPECT_EQ(CountDifferences(elementary::ScalarSide(), side, f), 0)
          << side.name << ' ' << elementary::kFunctionNames[f];
    }
  }
}

// Only rounding to bf16 has no coefficient to be wrong.
TEST(ElementaryTwins, OneWrongCoefficientBitShows) {
  for (int f = 0; f < elementary::kFunctions; ++f) {
    const int different = CountDifferences(elementary::ScalarSide(),
                                           elementary::PlantedSide(), f);
    if (f == static_cast<int>(elementary::Function::kRoundToBf16Lane)) {
      EXPECT_EQ(different, 0);
    } else {
      EXPECT_GT(different, 0) << elementary::kFunctionNames[f];
    }
  }
}

// Every bf16, every tie between two, and both neighbours of each; NaN too.
std::vector<float> RoundingCases() {
  std::vector<float> x;
  for (uint32_t upper = 0; upper < 0x10000u; ++upper) {
    for (const uint32_t lower : {0x0000u, 0x7fffu, 0x8000u, 0x8001u}) {
      x.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  return x;
}

TEST(ElementaryTwins, PackedBf16IsTheScalarRounding) {
  const std::vector<float> x = RoundingCases();
  for (const size_t target : SupportedIndices()) {
    std::vector<uint16_t> packed(x.size());
    HWY_DISPATCH_TABLE(Pack)[target](x.data(), x.size(), packed.data());
    int different = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const uint16_t expected = reference::RoundToBf16(x[i]).bits;
      different += packed[i] != expected;
    }
    EXPECT_EQ(different, 0);
  }
}

TEST(ElementaryTwins, RoundingCoreDiffersOnNaNOnly) {
  const std::vector<float> x = RoundingCases();
  for (const size_t target : SupportedIndices()) {
    std::vector<float> rounded(x.size());
    HWY_DISPATCH_TABLE(RoundWithoutNaN)
    [target](x.data(), x.size(), rounded.data());
    int different = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) continue;
      different += std::bit_cast<uint32_t>(rounded[i]) !=
                   std::bit_cast<uint32_t>(reference::RoundToBf16Lane(x[i]));
    }
    EXPECT_EQ(different, 0);
  }
}

TEST(ElementaryTwins, WideningIsExact) {
  std::vector<uint16_t> bits(0x10000);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  for (const size_t target : SupportedIndices()) {
    std::vector<float> x(bits.size());
    HWY_DISPATCH_TABLE(Widen)[target](bits.data(), bits.size(), x.data());
    int different = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      different +=
          std::bit_cast<uint32_t>(x[i]) != static_cast<uint32_t>(i << 16);
    }
    EXPECT_EQ(different, 0);
  }
}

}  // namespace
}  // namespace lockstep
#endif  // HWY_ONCE
