// The copy of scalar code for FMA has the bits of the one for all processors.
#include "reference/contract/with_fma.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep {
namespace {

// Numbers of all sizes and kinds, signs included.
std::vector<float> Numbers() {
  std::vector<float> numbers = {0.0f,
                                -0.0f,
                                1.0f,
                                std::numeric_limits<float>::denorm_min(),
                                std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::infinity()};
  uint32_t state = 1;
  for (int n = 0; n < 40; ++n) {
    state = state * 1664525u + 1013904223u;
    numbers.push_back(std::bit_cast<float>(state & 0xff7fffffu));
  }
  return numbers;
}

bool Same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

TEST(WithFma, FmaIsTheLibrarys) {
  for (const float a : Numbers()) {
    for (const float b : Numbers()) {
      for (const float c : Numbers()) {
        const float copied =
            WithFma([&]() LOCKSTEP_IN_BOTH { return std::fma(a, b, c); });
        ASSERT_TRUE(Same(copied, std::fma(a, b, c)))
            << a << " " << b << " " << c;
      }
    }
  }
}

// N4: a product and a sum stay two roundings where the instruction would be at
// hand. 1 + 2^-12 squared has 2^-24 as its last bit, which f32 drops.
TEST(WithFma, NothingElseIsFused) {
  const volatile float x = 1 + 0x1p-12f;
  const volatile float minus = -(1 + 0x1p-11f);
  const float apart = WithFma([&]() LOCKSTEP_IN_BOTH {
    const float product = x * x;
    return product + minus;
  });
  EXPECT_EQ(apart, 0.0f);
  EXPECT_EQ(std::fma(x, x, minus), 0x1p-24f);
}

}  // namespace
}  // namespace lockstep
