// N20's arithmetic against sums of integers of 640 bits, and its order against
// sums that every other order gets wrong.
#include "reference/block_product.h"

#include <bit>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/contract/numerics.h"

namespace lockstep::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }

// Magnitudes in units of 2^-kUnit: products of two normal f32 bf16 values go
// from 2^-266 to below 2^256.
constexpr int kUnit = 300;
using Wide = std::bitset<640>;

Wide Shifted(uint64_t x, int exponent) {
  return Wide(x) << static_cast<size_t>(exponent + kUnit);
}

bool Less(const Wide& a, const Wide& b) {
  for (size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i]) return b[i];
  }
  return false;
}

Wide Sum(const Wide& a, const Wide& b) {
  Wide sum;
  bool carry = false;
  for (size_t i = 0; i < a.size(); ++i) {
    sum[i] = a[i] ^ b[i] ^ carry;
    carry = (a[i] && b[i]) || (carry && (a[i] || b[i]));
  }
  return sum;
}

Wide Difference(const Wide& a, const Wide& b) {  // a >= b
  return Sum(Sum(a, ~b), Wide(1));
}

// A finite f32, subnormal ones as zero: sign, 24 bits, exponent of the last.
struct Parts {
  bool negative = false;
  uint32_t bits = 0;
  int exponent = 0;
};

Parts PartsOf(float x) {
  const uint32_t b = Bits(x);
  const auto field = static_cast<int>(b >> 23 & 255);
  if (field == 0) return {b >> 31 != 0, 0, 0};
  return {b >> 31 != 0, (b & 0x7fffffu) | 0x800000u, field - 150};
}

// Sign and magnitude to f32: nearest, ties to even, for any exponent, then
// zero below 2^-126.
float Rounded(bool negative, const Wide& magnitude) {
  const float sign = negative ? -1.0f : 1.0f;
  size_t top = magnitude.size();
  while (top > 0 && !magnitude[top - 1]) --top;
  if (top == 0) return sign * 0.0f;
  const size_t last = top - 24;  // kUnit is far below the smallest product
  auto bits =
      static_cast<uint32_t>(((magnitude >> last) & Wide(0xffffffu)).to_ulong());
  const bool half = magnitude[last - 1];
  const bool more = (magnitude << (magnitude.size() - last + 1)).any();
  if (half && (more || bits % 2 != 0)) ++bits;
  const int exponent = static_cast<int>(last) - kUnit;
  if (bits < 0x1000000u && exponent + 23 < -126) return sign * 0.0f;
  if (bits == 0x1000000u && exponent + 24 < -126) return sign * 0.0f;
  const double exact = std::ldexp(static_cast<double>(bits), exponent);
  const bool fits = exact <= 0x1.fffffep127;
  return sign * (fits ? static_cast<float>(exact) : kInfinity);
}

// x * y + z of finite numbers; y = 1 makes it a sum.
float Exactly(float x, float y, float z) {
  const Parts a = PartsOf(x), b = PartsOf(y), c = PartsOf(z);
  const bool negative = a.negative != b.negative;
  const Wide product = Shifted(uint64_t{a.bits} * b.bits,
                               a.bits && b.bits ? a.exponent + b.exponent : 0);
  const Wide addend = Shifted(c.bits, c.exponent);
  if (negative == c.negative) return Rounded(negative, Sum(product, addend));
  if (product == addend) return 0.0f;
  return Less(product, addend)
             ? Rounded(c.negative, Difference(addend, product))
             : Rounded(negative, Difference(product, addend));
}

// Numbers where flushing decides: near the smallest normal one, subnormal, near
// one, anywhere; `bits` significant ones.
float Edgy(std::mt19937_64& rng, int bits, int kind) {
  const uint64_t r = rng();
  uint32_t field = 0;
  switch (kind) {
    case 0:
      field = static_cast<uint32_t>(r >> 40) % 255;
      break;
    case 1:
      field = static_cast<uint32_t>(r >> 40) % 4;
      break;
    case 2:
      field = 62 + static_cast<uint32_t>(r >> 40) % 4;
      break;
    default:
      field = 125 + static_cast<uint32_t>(r >> 40) % 4;
  }
  const uint32_t keep = 0x7fffffu & ~((1u << (24 - bits)) - 1);
  return std::bit_cast<float>(static_cast<uint32_t>(r & 0x80000000u) |
                              field << 23 | (static_cast<uint32_t>(r) & keep));
}

TEST(BlockProduct, MulAddIsRoundedOnceAndFlushed) {
  std::mt19937_64 rng(1);
  int flushed = 0, edge = 0;
  for (int n = 0; n < 60000; ++n) {
    const float x = Edgy(rng, 8, n % 4);
    const float y = Edgy(rng, 8, n / 4 % 4);
    float z = Edgy(rng, 24, n / 16 % 4);
    if (n % 3 == 0) {  // a sum next to the smallest normal number
      z = std::bit_cast<float>(Bits(-(x * y)) + static_cast<uint32_t>(n % 5));
      if (!std::isfinite(z)) continue;
      if (n % 2 == 0) z = std::copysign(0x1p-126f, z);
    }
    const float wanted = Exactly(x, y, z);
    ASSERT_EQ(Bits(FlushedMulAdd(x, y, z)), Bits(wanted))
        << std::hexfloat << x << " " << y << " " << z;
    const float unflushed = std::fma(x, y, z);
    flushed += unflushed != 0 && wanted == 0;
    edge += std::fabs(unflushed) == 0x1p-126f;
  }
  EXPECT_GT(flushed, 500);
  EXPECT_GT(edge, 20);
}

// Rounds to the smallest normal number among numbers of 2^-149, but to 24 bits
// it is below.
TEST(BlockProduct, TinyIsJudgedAfterRoundingTo24Bits) {
  const float z = 0x1p-126f;
  EXPECT_EQ(FlushedMulAdd(-0x1p-76f, 0x1p-76f, z), z);  // 2^-152: rounds up
  EXPECT_EQ(FlushedMulAdd(-0x1p-75f, 0x1p-76f, z), z);  // the tie, to even
  EXPECT_EQ(Bits(FlushedMulAdd(-0x1.02p-75f, 0x1p-76f, z)), 0u);
  EXPECT_EQ(Bits(FlushedMulAdd(0x1.02p-75f, 0x1p-76f, -z)), 0x80000000u);
  EXPECT_EQ(std::fma(-0x1.02p-75f, 0x1p-76f, z), z);
  EXPECT_EQ(Bits(FlushedAdd(0x1.8p-126f, -0x1p-126f)), 0u);
  EXPECT_EQ(Bits(FlushedAdd(-0x1p-149f, 0x1p-126f)), Bits(0x1p-126f));
}

TEST(BlockProduct, AddIsRoundedOnceAndFlushed) {
  std::mt19937_64 rng(2);
  for (int n = 0; n < 40000; ++n) {
    const float x = Edgy(rng, 24, n % 4);
    float y = Edgy(rng, 24, n / 4 % 4);
    if (n % 3 == 0) y = std::bit_cast<float>(Bits(-x) ^ (n % 7 != 0));
    if (!std::isfinite(y)) continue;
    ASSERT_EQ(Bits(FlushedAdd(x, y)), Bits(Exactly(x, 1.0f, y)))
        << std::hexfloat << x << " " << y;
  }
}

TEST(BlockProduct, SpecialValuesFollowIeeeAfterTheFlush) {
  EXPECT_EQ(FlushedMulAdd(kInfinity, 2.0f, 1.0f), kInfinity);
  EXPECT_EQ(FlushedMulAdd(0x1p127f, -4.0f, 1.0f), -kInfinity);
  EXPECT_TRUE(std::isnan(FlushedMulAdd(kInfinity, 0x1p-130f, 1.0f)));
  EXPECT_TRUE(std::isnan(FlushedMulAdd(kNaN, 0.0f, 1.0f)));
  EXPECT_TRUE(std::isnan(FlushedAdd(kInfinity, -kInfinity)));
  EXPECT_EQ(Bits(FlushedMulAdd(-0x1p-140f, 1.0f, -0x1p-140f)), 0x80000000u);
}

// The sum by the clause's words, from exact operations.
float ByTheClause(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0.0f;
  for (size_t begin = 0; begin < a.size(); begin += 32) {
    float even = 0.0f, odd = 0.0f;
    for (size_t i = begin; i < a.size() && i < begin + 32; i += 2) {
      even = Exactly(a[i], b[i], even);
    }
    for (size_t i = begin + 1; i < a.size() && i < begin + 32; i += 2) {
      odd = Exactly(a[i], b[i], odd);
    }
    sum = Exactly(sum, 1.0f, Exactly(even, 1.0f, odd));
  }
  return sum;
}

float Total(const std::vector<float>& a, const std::vector<float>& b) {
  BlockSum sum;
  for (size_t i = 0; i < a.size(); ++i) {
    sum.Add(static_cast<int64_t>(i), a[i], b[i]);
  }
  return sum.Total();
}

TEST(BlockProduct, BlocksOfEvenAndOddChains) {
  std::mt19937_64 rng(3);
  for (int n = 0; n < 150; ++n) {
    std::vector<float> a(static_cast<size_t>(n % 75 + 1)), b(a.size());
    const int kind = n % 2 == 0 ? 3 : 2;
    for (float& x : a) x = Edgy(rng, 8, kind);
    for (float& x : b) x = Edgy(rng, 8, kind);
    ASSERT_EQ(Bits(Total(a, b)), Bits(ByTheClause(a, b))) << n;
  }
}

// Each of these sums is another number in one chain, in blocks of 16 or 64,
// with the accumulator first.
TEST(BlockProduct, OrderShows) {
  std::vector<float> one(64, 1.0f), a(64, 0.0f);
  a[0] = 0x1p30f;
  a[1] = 1.0f;
  a[2] = -0x1p30f;  // the even chain cancels before the odd one comes in
  EXPECT_EQ(Total(a, one), 1.0f);
  a[2] = 0.0f;
  a[16] = -0x1p30f;  // in the same block of 32, not of 16
  EXPECT_EQ(Total(a, one), 1.0f);
  a[16] = 0.0f;
  a[32] = -0x1p30f;  // in the next one: too late for the odd chain
  EXPECT_EQ(Total(a, one), 0.0f);
  a = std::vector<float>(64, 0.0f);
  a[0] = 0x1p30f;
  a[32] = 1.0f;  // e + o first, then the accumulator
  a[33] = -0x1p30f;
  EXPECT_EQ(Total(a, one), 0.0f);
}

// A block is a stretch of the axis, whoever is missing from it.
TEST(BlockProduct, MissingIndicesTakeNoPart) {
  BlockSum sum;
  sum.Add(31, 0x1p30f, 1.0f);
  sum.Add(32, 1.0f, 1.0f);
  sum.Add(100, -0x1p30f, 1.0f);
  EXPECT_EQ(sum.Total(), 0.0f);
  BlockSum same;
  same.Add(2, 0x1p30f, 1.0f);
  same.Add(9, 1.0f, 1.0f);
  same.Add(30, -0x1p30f, 1.0f);
  EXPECT_EQ(same.Total(), 1.0f);
  EXPECT_EQ(Bits(BlockSum().Total()), 0u);
}

}  // namespace
}  // namespace lockstep::reference
