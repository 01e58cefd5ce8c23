// Special values and single facts of the scalar elementary functions. All
// arguments are walked over by elementary_sweep.
#include "reference/elementary.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/contract/numerics.h"
#include "tests/support/elementary_oracle.h"
#include "tests/support/elementary_sides.h"

namespace lockstep::reference {
namespace {

using elementary::Function;
using elementary::kFunctions;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMaxFloat = std::numeric_limits<float>::max();
constexpr float kTiniest = 0x1p-149f;

uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }
float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

// One result of a side, through its kernel.
float ResultOf(const elementary::Side& side, int function, uint32_t argument) {
  uint32_t bits[elementary::kChunk];
  side.kernels[function](argument, bits);
  return FromBits(bits[0]);
}

// The error at the stated worst argument is the stated bound, rounded up.
bool ShowsItsBound(const elementary::Side& side, int function) {
  const auto name = static_cast<Function>(function);
  const ElementaryBound bound = elementary::BoundOf(name);
  const float x = FromBits(bound.witness);
  const double ulp =
      elementary::UlpError(name, x, ResultOf(side, function, bound.witness));
  return std::fabs(std::ceil(ulp * 1000.0) / 1000.0 - bound.max_ulp) < 1e-9;
}

TEST(Elementary, WitnessesShowTheStatedBounds) {
  for (int f = 0; f < kFunctions; ++f) {
    if (elementary::BoundOf(static_cast<Function>(f)).max_ulp == 0.0) continue;
    EXPECT_TRUE(ShowsItsBound(elementary::ScalarSide(), f))
        << elementary::kFunctionNames[f];
  }
}

// Silu's witness lies near 0, where the last bits of the coefficients do not
// count: it is Sigmoid and one product, and the digests tell.
TEST(Elementary, WitnessesExposeOneWrongCoefficientBit) {
  for (int f = 0; f < kFunctions; ++f) {
    if (static_cast<Function>(f) == Function::kSilu) continue;
    if (elementary::BoundOf(static_cast<Function>(f)).max_ulp == 0.0) continue;
    EXPECT_FALSE(ShowsItsBound(elementary::PlantedSide(), f))
        << elementary::kFunctionNames[f];
  }
}

TEST(Elementary, NaNBecomesCanonical) {
  for (const uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u,
                             0x7fffffffu, 0xffffffffu}) {
    const float x = FromBits(nan);
    for (const float y :
         {Exp2(x), Exp(x), Log2(x), Tanh(x), Sigmoid(x), Silu(x), Softplus(x),
          RoundToBf16Lane(x), CanonicalNaN(x)}) {
      EXPECT_EQ(Bits(y), kCanonicalNaNBits) << std::hex << nan;
    }
    EXPECT_EQ(RoundToBf16(x).bits, kCanonicalNaNBf16Bits);
    EXPECT_TRUE(std::isnan(Exp2Core(x)));
    EXPECT_TRUE(std::isnan(TanhCore(x)));
    EXPECT_TRUE(std::isnan(Log2Core(x)));
    EXPECT_TRUE(std::isnan(SinCosTurnsCore(x).sin));
    EXPECT_TRUE(std::isnan(SinCosTurnsCore(x).cos));
  }
}

TEST(Elementary, Exp2IsExactOnIntegers) {
  for (int n = -149; n <= 127; ++n) {
    EXPECT_EQ(Exp2(static_cast<float>(n)), std::ldexp(1.0f, n)) << n;
  }
}

TEST(Elementary, Exp2AndExpAtTheEnds) {
  EXPECT_EQ(Exp2(128.0f), kInf);
  EXPECT_LT(Exp2(std::nextafter(128.0f, 0.0f)), kInf);
  EXPECT_EQ(Exp2(-150.0f), 0.0f);  // a tie, to even
  EXPECT_EQ(Exp2(std::nextafter(-150.0f, 0.0f)), kTiniest);
  EXPECT_EQ(Exp(88.72284f), kInf);
  EXPECT_LT(Exp(88.72283f), kInf);
  for (float (*f)(float) : {Exp2, Exp}) {
    EXPECT_EQ(f(kInf), kInf);
    EXPECT_EQ(f(kMaxFloat), kInf);
    EXPECT_EQ(Bits(f(-kInf)), 0u);
    EXPECT_EQ(Bits(f(-kMaxFloat)), 0u);
    EXPECT_EQ(f(0.0f), 1.0f);
    EXPECT_EQ(f(-0.0f), 1.0f);
  }
}

TEST(Elementary, Log2AtTheEnds) {
  EXPECT_EQ(Log2(0.0f), -kInf);
  EXPECT_EQ(Log2(-0.0f), -kInf);
  EXPECT_EQ(Log2(kInf), kInf);
  EXPECT_EQ(Bits(Log2(-1.0f)), kCanonicalNaNBits);
  EXPECT_EQ(Bits(Log2(-kInf)), kCanonicalNaNBits);
  EXPECT_EQ(Bits(Log2(-kTiniest)), kCanonicalNaNBits);
  EXPECT_EQ(Bits(Log2(1.0f)), 0u);
  for (int n = -149; n <= 127; ++n) {
    EXPECT_EQ(Log2(std::ldexp(1.0f, n)), static_cast<float>(n)) << n;
  }
}

TEST(Elementary, Log2SplitStepsAtSqrtHalf) {
  const float below = FromBits(0x3f3504f3u);  // < sqrt(1/2)
  EXPECT_EQ(SplitForLog2(below).k, -1.0f);
  EXPECT_EQ(SplitForLog2(below).z, 2.0f * below);
  const float above = FromBits(0x3f3504f4u);
  EXPECT_EQ(SplitForLog2(above).k, 0.0f);
  EXPECT_EQ(SplitForLog2(above).z, above);
  EXPECT_EQ(SplitForLog2(kTiniest).k, -149.0f);
  EXPECT_EQ(SplitForLog2(kTiniest).z, 1.0f);
  EXPECT_EQ(SplitForLog2(kMaxFloat).k, 128.0f);
}

TEST(Elementary, TanhKeepsZerosAndSubnormals) {
  for (const uint32_t bits : {0u, 1u, 0x7fffffu, 0x800000u, 0x34000000u}) {
    EXPECT_EQ(Bits(Tanh(FromBits(bits))), bits);
    EXPECT_EQ(Bits(Tanh(FromBits(bits | 0x80000000u))), bits | 0x80000000u);
  }
}

TEST(Elementary, TanhSaturatesAtOne) {
  EXPECT_EQ(Tanh(kInf), 1.0f);
  EXPECT_EQ(Tanh(-kInf), -1.0f);
  EXPECT_EQ(Tanh(kMaxFloat), 1.0f);
  EXPECT_EQ(Tanh(9.1f), 1.0f);
  EXPECT_LT(Tanh(8.6f), 1.0f);
}

TEST(Elementary, SigmoidAtTheEnds) {
  EXPECT_EQ(Sigmoid(0.0f), 0.5f);
  EXPECT_EQ(Sigmoid(-0.0f), 0.5f);
  EXPECT_EQ(Sigmoid(kInf), 1.0f);
  EXPECT_EQ(Bits(Sigmoid(-kInf)), 0u);
  EXPECT_EQ(Bits(Sigmoid(-kMaxFloat)), 0u);
  EXPECT_EQ(Sigmoid(-103.0f), kTiniest);
}

TEST(Elementary, SiluIsTheProduct) {
  EXPECT_EQ(Bits(Silu(0.0f)), 0u);
  EXPECT_EQ(Bits(Silu(-0.0f)), 0x80000000u);
  EXPECT_EQ(Silu(kInf), kInf);
  EXPECT_EQ(Silu(kMaxFloat), kMaxFloat);
  EXPECT_EQ(Bits(Silu(-kMaxFloat)), 0x80000000u);
  EXPECT_EQ(Bits(Silu(-kInf)), kCanonicalNaNBits);  // 0 * -inf
}

// Left of kSiluLow the subnormal sigmoid has few bits left: at most 1.3 units
// of 2^-149 are wrong, times |x|. The largest error is 110.8 units at
// -0x1.5e715ep+6.
TEST(Elementary, SiluBelowItsDomainIsNearZero) {
  int wrong = 0;
  for (float x = kSiluLow; x > -120.0f; x = std::nextafter(x, -kInf)) {
    const double exact = x / (1.0 + std::exp(-static_cast<double>(x)));
    wrong +=
        !(std::fabs(static_cast<double>(Silu(x)) - exact) <= 111 * 0x1p-149);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Elementary, SoftplusAtTheEnds) {
  EXPECT_EQ(Softplus(kInf), kInf);
  EXPECT_EQ(Softplus(kMaxFloat), kMaxFloat);
  EXPECT_EQ(Softplus(20.0f), 20.0f);
  EXPECT_EQ(Bits(Softplus(-kInf)), 0u);
  EXPECT_EQ(Bits(Softplus(-kMaxFloat)), 0u);
  EXPECT_EQ(Softplus(-103.0f), kTiniest);
  EXPECT_EQ(Softplus(0.0f), 0.69314718f);
  EXPECT_EQ(Softplus(-0.0f), 0.69314718f);
}

TEST(Elementary, QuarterTurnsAreExact) {
  const float sines[] = {0, 1, 0, -1};
  for (int quarter = -40; quarter <= 40; ++quarter) {
    const SinCos turn = SinCosTurnsCore(static_cast<float>(quarter) * 0.25f);
    EXPECT_EQ(turn.sin, sines[quarter & 3]) << quarter;
    EXPECT_EQ(turn.cos, sines[(quarter + 1) & 3]) << quarter;
  }
}

TEST(Elementary, TurnsArePeriodicBitForBit) {
  for (float x = 0.0f; x < 1.0f; x += 0x1.5p-12f) {
    for (const float turns : {-3.0f, 1.0f, 7.0f}) {
      EXPECT_EQ(Bits(SinCosTurnsCore(x + turns).sin),
                Bits(SinCosTurnsCore(x).sin));
      EXPECT_EQ(Bits(SinCosTurnsCore(x + turns).cos),
                Bits(SinCosTurnsCore(x).cos));
    }
  }
}

TEST(Elementary, RoundToBf16TiesToEven) {
  EXPECT_EQ(RoundToBf16(FromBits(0x3f808000u)).bits, 0x3f80);
  EXPECT_EQ(RoundToBf16(FromBits(0x3f818000u)).bits, 0x3f82);
  EXPECT_EQ(RoundToBf16(FromBits(0x3f808001u)).bits, 0x3f81);
  EXPECT_EQ(RoundToBf16(FromBits(0x3f807fffu)).bits, 0x3f80);
  EXPECT_EQ(RoundToBf16(kMaxFloat).bits, 0x7f80);         // overflow
  EXPECT_EQ(RoundToBf16(FromBits(0x00008001u)).bits, 1);  // subnormal
  EXPECT_EQ(RoundToBf16(FromBits(0x80008000u)).bits, 0x8000);
  EXPECT_EQ(RoundToBf16(-kInf).bits, 0xff80);
}

TEST(Elementary, RoundToF16TiesToEven) {
  EXPECT_EQ(RoundToF16(1.0f).bits, 0x3c00);
  EXPECT_EQ(RoundToF16(1.0f + 0x1p-11f).bits, 0x3c00);
  EXPECT_EQ(RoundToF16(1.0f + 0x1.8p-10f).bits, 0x3c02);
  EXPECT_EQ(RoundToF16(1.0f + 0x1.002p-11f).bits, 0x3c01);
  EXPECT_EQ(RoundToF16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(RoundToF16(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);
  EXPECT_EQ(RoundToF16(65520.0f).bits, 0x7c00);  // overflow
  EXPECT_EQ(RoundToF16(-kMaxFloat).bits, 0xfc00);
  EXPECT_EQ(RoundToF16(0x1p-14f).bits, 0x0400);
  EXPECT_EQ(RoundToF16(0x1.ffbp-15f).bits, 0x03ff);  // subnormal
  EXPECT_EQ(RoundToF16(0x1.ffcp-15f).bits, 0x0400);
  EXPECT_EQ(RoundToF16(-0x1p-24f).bits, 0x8001);
  EXPECT_EQ(RoundToF16(0x1p-25f).bits, 0);
  EXPECT_EQ(RoundToF16(0x1.000002p-25f).bits, 1);
  EXPECT_EQ(RoundToF16(0x1.8p-24f).bits, 2);
  EXPECT_EQ(RoundToF16(FromBits(0x80000001u)).bits, 0x8000);
  EXPECT_EQ(RoundToF16(-std::nanf("1")).bits, kCanonicalNaNF16Bits);
}

// Against a definition in binary64 that shares nothing with it: the f16 number
// that is nearest, the one with an even last bit of two.
TEST(Elementary, F16IsTheNearestNumber) {
  const auto of = [](int bits) {
    const int exponent = bits >> 10;
    const double fraction = bits & 0x3ff;
    return exponent == 0 ? std::ldexp(fraction, -24)
                         : std::ldexp(1024 + fraction, exponent - 25);
  };
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const double low = of(bits), high = of(bits + 1);
    const auto half = static_cast<float>((low + high) / 2);
    const auto one = static_cast<uint16_t>(bits);
    ASSERT_EQ(static_cast<double>(ToFloat(F16{one})), low);
    ASSERT_EQ(RoundToF16(static_cast<float>(low)).bits, bits);
    ASSERT_EQ(RoundToF16(half).bits, bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(RoundToF16(std::nextafter(half, 0.0f)).bits, bits);
    ASSERT_EQ(RoundToF16(std::nextafter(half, kInf)).bits, bits + 1);
  }
}

TEST(Elementary, WeightsOfF16HaveElevenBitsAndNoOtherLimit) {
  EXPECT_EQ(RoundWeight(1.0f + 0x1p-11f, Lane::kF16), 1.0f);
  EXPECT_EQ(RoundWeight(1.0f + 0x1.8p-10f, Lane::kF16), 1.0f + 0x1p-9f);
  EXPECT_EQ(RoundWeight(0x1.002p-126f, Lane::kF16), 0x1p-126f);
  EXPECT_EQ(RoundWeight(0x1.fffp+80f, Lane::kF16), 0x1p+81f);
  // Also below f32's normal numbers, where scales of values lead (N25).
  EXPECT_EQ(RoundWeight(0x1.803p-128f, Lane::kF16), 0x1.804p-128f);
  EXPECT_EQ(RoundWeight(-0x1.802p-128f, Lane::kF16), -0x1.8p-128f);
  EXPECT_EQ(RoundWeight(0x1.8p-140f, Lane::kF16), 0x1.8p-140f);
  EXPECT_EQ(RoundWeight(0x1p-149f, Lane::kF16), 0x1p-149f);
  EXPECT_EQ(RoundWeight(0x1.8p-133f, Lane::kBf16), 0x1p-132f);
  EXPECT_EQ(RoundWeight(0x1.234p-3f, Lane::kF16),
            ToFloat(RoundToF16(0x1.234p-3f)));
}

}  // namespace
}  // namespace lockstep::reference
