// A matrix unit that is not there, not allowed or not what N20 says is not
// used, and the reason is named.
#include "optimized/matrix_unit.h"

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace lockstep::optimized {
namespace {

// The start-up check: a unit that is right, in scalar arithmetic, and what it
// could be instead.
enum class Defect {
  kNone,
  kUnflushed,
  kOneChain,
  kHalfBlocks,
  kAccumulatorFirst,
  kAccumulatorInEven,
  kUnfused,
  kHalvesExchangedOnOneSide,
};

// volatile: one rounding or flush each, where it stands.
float Add(float x, float y) {
  volatile float a = x;
  volatile float b = y;
  volatile float sum = a + b;
  return sum;
}

float MulAdd(float x, float y, float z, Defect defect) {
  volatile float a = x;
  volatile float b = y;
  volatile float c = z;
  if (defect == Defect::kUnfused) {
    volatile float product = a * b;
    return Add(product, c);
  }
  if (defect == Defect::kUnflushed) return std::fma(a, b, c);
  const auto flushed = [](float v) {
    return std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v;
  };
  const double exact =
      static_cast<double>(flushed(x)) * static_cast<double>(flushed(y)) +
      static_cast<double>(flushed(z));
  const float sum = std::fma(flushed(x), flushed(y), flushed(z));
  return std::fabs(exact) < 0x1.ffffffp-127 ? std::copysign(0.0f, sum) : sum;
}

float One(const MatrixProduct& x, size_t row, size_t column, Defect defect) {
  float c = x.clear ? 0.0f : x.c[row * x.c_stride + column];
  const size_t step = defect == Defect::kHalfBlocks ? 8 : 16;
  for (size_t begin = 0; begin < x.blocks * 16; begin += step) {
    float chains[2] = {};
    if (defect == Defect::kAccumulatorInEven) chains[0] = c;
    for (size_t i = begin; i < begin + step; ++i) {
      const uint32_t a = x.a[row * x.a_stride + i];
      uint32_t b = x.b[i * x.b_stride + column];
      if (defect == Defect::kHalvesExchangedOnOneSide) b = b << 16 | b >> 16;
      for (const int half : {0, 1}) {
        const uint32_t shift = half == 0 ? 0 : 16;
        const auto y = std::bit_cast<float>(a << shift & 0xffff0000u);
        const auto z = std::bit_cast<float>(b << shift & 0xffff0000u);
        float& chain = defect == Defect::kOneChain ? c : chains[half];
        chain = MulAdd(y, z, chain, defect);
      }
    }
    if (defect == Defect::kOneChain) continue;
    const auto add = [&](float y, float z) {
      return MulAdd(y, 1.0f, z, defect);
    };
    if (defect == Defect::kAccumulatorFirst) {
      c = add(add(c, chains[0]), chains[1]);
    } else if (defect == Defect::kAccumulatorInEven) {
      c = add(chains[0], chains[1]);
    } else {
      c = add(c, add(chains[0], chains[1]));
    }
  }
  return c;
}

MatrixUnit CheckOf(Defect defect, bool instruction = true, int refused = 0) {
  return CheckMatrixUnit({instruction, [=] { return refused; },
                          [=](const MatrixProduct& x) {
                            for (size_t r = 0; r < kMatrixRows; ++r) {
                              for (size_t c = 0; c < kMatrixColumns; ++c) {
                                x.c[r * x.c_stride + c] = One(x, r, c, defect);
                              }
                            }
                          }});
}

TEST(MatrixUnit, IsUsedOnlyIfItIsThereAllowedAndRight) {
  EXPECT_TRUE(CheckOf(Defect::kNone).usable);
  EXPECT_EQ(CheckOf(Defect::kNone).why_not, "");
  EXPECT_EQ(CheckOf(Defect::kNone, false).why_not,
            "this CPU or system has no AMX-BF16");
  EXPECT_EQ(CheckOf(Defect::kNone, true, EPERM).why_not,
            "the kernel gives no permission for AMX tile data (errno 1)");
  for (int n = 1; n <= static_cast<int>(Defect::kHalvesExchangedOnOneSide);
       ++n) {
    const MatrixUnit unit = CheckOf(static_cast<Defect>(n));
    EXPECT_FALSE(unit.usable) << n;
    EXPECT_EQ(unit.why_not, "TDPBF16PS failed its start-up self-test") << n;
  }
}

}  // namespace
}  // namespace lockstep::optimized
