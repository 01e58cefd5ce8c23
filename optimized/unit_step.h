// A step of N21, one sum at a time, in integers. It serves rows on the exact
// path, and sums that the vectors of attention_steps-inl.h leave out.
#ifndef LOCKSTEP_OPTIMIZED_UNIT_STEP_H_
#define LOCKSTEP_OPTIMIZED_UNIT_STEP_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "reference/contract/matrix_units.h"
#include "reference/contract/numerics.h"

namespace lockstep::optimized {

// Exponents and significands of f32 are biased by that much, wide by this.
inline constexpr int kF32Bias = 127;
inline constexpr int kF32Fraction = 23;

// sum + a[i] * b[i] for the i below `count`, bf16 in f32, as one step.
//   Requires: count is not above step.products.
template <class A, class B>
float AddUnitStep(const UnitStep& step, int64_t count, const A& a, const B& b,
                  float sum) {
  const auto field = [](float x) {
    return static_cast<int>(std::bit_cast<uint32_t>(x) >> kF32Fraction & 255);
  };
  const auto exponent = [&](float x) {
    return std::max(field(x), 1) - kF32Bias;
  };
  const auto significand = [&](float x) {
    const uint32_t rest = std::bit_cast<uint32_t>(x) & 0x7fffffu;
    return static_cast<int64_t>(rest | (field(x) > 0 ? 0x800000u : 0u));
  };
  const auto negative = [](float x) {
    return std::bit_cast<uint32_t>(x) >> 31 != 0;
  };
  // Infinities and NaN: IEEE's rules, which no finite term changes.
  bool finite = field(sum) < 255;
  for (int64_t i = 0; i < count; ++i) {
    finite = finite && field(a(i)) < 255 && field(b(i)) < 255;
  }
  if (!finite) {
    const auto far = [](double x) { return x - x == 0 ? 0.0 : x; };
    double special = far(static_cast<double>(sum));
    for (int64_t i = 0; i < count; ++i) {
      special += far(static_cast<double>(a(i)) * static_cast<double>(b(i)));
    }
    return special != special ? std::bit_cast<float>(kCanonicalNaNBits)
                              : static_cast<float>(special);
  }
  int top = sum == 0 ? step.zero : exponent(sum);
  for (int64_t i = 0; i < count; ++i) {
    if (a(i) != 0 && b(i) != 0) {
      top = std::max(top, exponent(a(i)) + exponent(b(i)));
    }
  }
  // In units of 2^(top - F). A product of bf16 has 14 bits behind the point.
  // The exponent of a zero product may lie far above `top`.
  const auto in_units = [&](int64_t size, int behind, int at, bool minus) {
    if (size == 0) return int64_t{0};
    const int left = step.fraction - behind + at - top;
    const int64_t kept = left >= 0    ? size << left
                         : left > -63 ? size >> -left
                                      : 0;
    return minus ? -kept : kept;
  };
  int64_t total =
      in_units(significand(sum), kF32Fraction, exponent(sum), negative(sum));
  for (int64_t i = 0; i < count; ++i) {
    const float x = a(i), y = b(i);
    total += in_units((significand(x) >> 16) * (significand(y) >> 16), 14,
                      exponent(x) + exponent(y), negative(x) != negative(y));
  }
  const auto size = static_cast<uint64_t>(total < 0 ? -total : total);
  const int scale = top - step.fraction;
  const int last = std::max(
      static_cast<int>(std::bit_width(size)) - 1 + scale - kF32Fraction,
      1 - kF32Bias - kF32Fraction);
  const uint64_t kept = last - scale >= 64 ? 0
                        : last >= scale    ? size >> (last - scale)
                                           : size << (scale - last);
  if (kept == 0) return 0.0f;
  const auto biased = static_cast<uint64_t>(last + kF32Bias + kF32Fraction - 1);
  const auto bits = static_cast<uint32_t>(std::min<uint64_t>(
      (biased << kF32Fraction) + kept, uint64_t{255} << kF32Fraction));
  return std::bit_cast<float>(bits | (total < 0 ? 0x80000000u : 0u));
}

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_UNIT_STEP_H_
