// N20's arithmetic, one operation at a time: for rows on the exact path and for
// the self-test of the matrix unit.
#ifndef LOCKSTEP_OPTIMIZED_FLUSHED_MATH_H_
#define LOCKSTEP_OPTIMIZED_FLUSHED_MATH_H_

#include <cmath>

namespace lockstep::optimized {

// x * y + z: subnormal operands are zero, a tiny result becomes it. A result
// that is the smallest normal number may be so by rounding only. The same
// operation on operands 2^64 times larger tells; none of these overflows then.
inline float FlushedMulAdd(float x, float y, float z) {
  constexpr float kLeast = 0x1p-126f;
  const auto operand = [](float a) {
    return std::fabs(a) < kLeast ? std::copysign(0.0f, a) : a;
  };
  x = operand(x);
  y = operand(y);
  z = operand(z);
  const float sum = std::fma(x, y, z);
  if (!(std::fabs(sum) <= kLeast)) return sum;
  bool tiny = std::fabs(sum) < kLeast;
  if (!tiny) {
    const bool x_is_less = std::fabs(x) < std::fabs(y);
    const float less = (x_is_less ? x : y) * 0x1p64f;
    const float more = x_is_less ? y : x;
    tiny = std::fabs(std::fma(less, more, z * 0x1p64f)) < kLeast * 0x1p64f;
  }
  return tiny ? std::copysign(0.0f, sum) : sum;
}

// Ends a block: acc + (even + odd).
inline float FlushedAddBlock(float even, float odd, float acc) {
  return FlushedMulAdd(FlushedMulAdd(even, 1.0f, odd), 1.0f, acc);
}

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_FLUSHED_MATH_H_
