// Number formats and sums of emulated kernels, the same bits on every machine:
// integer rounding, and double arithmetic, rounded once where a kernel rounds.
#ifndef LOCKSTEP_VERIFY_EMULATOR_NUMBERS_H_
#define LOCKSTEP_VERIFY_EMULATOR_NUMBERS_H_

#include <cstdint>
#include <limits>
#include <span>

#include "verify/profile/profile.h"

namespace lockstep::verify {

inline constexpr float kFloatInf = std::numeric_limits<float>::infinity();
inline constexpr float kFloatNaN = std::numeric_limits<float>::quiet_NaN();

// x to nearest even with `bits` significant bits (1..24), f32's range.
float RoundToBits(float x, int bits);
// x cut off behind `bits` significant bits.
float TruncateToBits(float x, int bits);
// The value of x in another type, carried in f32. Requires: not kCase.
float RoundTo(float x, NumberType type);
float RoundToE4m3(float x);
float TruncateTo(float x, NumberType type);
// x, or the zero of its sign where f16 has subnormal numbers.
float FlushedInF16(float x);
// x, or the largest number of its sign where it is infinite.
float SaturatedInF16(float x);
// What the two bytes of an f16 mean as bf16. Requires: f16 has x.
float F16ReadAsBf16(float x);
// A double to f32, towards zero.
float TowardsZero(double x);

// acc + sum over i of a[i * a_stride] * b[i * b_stride], as the accumulator
// forms it, i ascending.
struct Chain {
  const float* a;
  int64_t a_stride;
  const float* b;
  int64_t b_stride;
  int64_t n;
};
float Accumulate(const Chain& chain, float acc, const Accumulator& how);
// sums[r] = the sum of a[i] * b[r][i] over i below n, ascending, by fma.
void DotRows(const float* a, std::span<const float* const> b, int64_t n,
             float* sums);
// sums[c] = fma(weight, v[c], sums[c]) for c below n.
void AddScaled(float weight, const float* v, int64_t n, float* sums);

// x * 2^d for integer-valued d <= 0, without 2^d itself.
float Shrink(float x, float d);

// One addition of such an accumulator.
float AddTo(float acc, float x, const Accumulator& how);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_NUMBERS_H_
