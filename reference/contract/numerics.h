// The implementation-defined choices of the numerics contract, in one place.
// Clause numbers (N1..N21) refer to docs/numerics.md. Constants and bit
// representations only: no function here computes a value of an operation.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_NUMERICS_H_
#define LOCKSTEP_REFERENCE_CONTRACT_NUMERICS_H_

#include <bit>
#include <cstdint>

namespace lockstep {

// Every change of an exact bit bumps it; every receipt has it.
inline constexpr int kContractVersion = 1;

// N11: partial sums of a row sum; key j of the row goes to stripe j mod 16.
inline constexpr int kStripes = 16;

// N9: with softcap and C = cap * log2e up to this bound, exp2 of the capped
// score cannot leave f32's range, so no row maximum is subtracted.
inline constexpr float kFixedPathBound = 80.0f;

// N9: weights are g * 2^((n - m) + kWeightShift), +0 below kMinExponent.
// The shift moves them to the upper half of the exponent range: the smallest
// weight is 2^-189 of the largest instead of 2^-125.
inline constexpr float kWeightShift = 64.0f;
inline constexpr float kMinExponent = -125.0f;

// N9: an accumulator that overflowed is computed again with this shift. The
// largest weight is then below 2^-31, so 2^31 keys of |v| = FLT_MAX are finite.
inline constexpr float kRedoShift = -32.0f;

// N20, order=amx: the number of products in a block of a sum. Blocks begin at
// its multiples on the channel axis and on the key axis.
inline constexpr int kProductBlock = 32;

// Mathematical constants; rounded to f32 once, where a clause says so (N7).
inline constexpr double kLog2E = 0x1.71547652b82fep+0;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// N2: every NaN written is this one.
inline constexpr uint32_t kCanonicalNaNBits = 0x7fc00000u;
inline constexpr uint16_t kCanonicalNaNBf16Bits = 0x7fc0u;
inline constexpr uint16_t kCanonicalNaNF16Bits = 0x7e00u;

// N1: the bf16 lane is the upper half of a binary32.
struct Bf16 {
  uint16_t bits = 0;
  friend bool operator==(Bf16, Bf16) = default;
};

// N1: the f16 lane is IEEE binary16, subnormal numbers included.
struct F16 {
  uint16_t bits = 0;
  friend bool operator==(F16, F16) = default;
};

// N25: the fp8 lanes of keys and values, as the Open Compute Project has them.
// e4m3 has 4 bits of exponent, no infinity, one NaN of each sign, and 448 as
// its largest number; e5m2 is the upper half of a binary16.
struct E4m3 {
  uint8_t bits = 0;
  friend bool operator==(E4m3, E4m3) = default;
};
struct E5m2 {
  uint8_t bits = 0;
  friend bool operator==(E5m2, E5m2) = default;
};
inline constexpr uint8_t kCanonicalNaNE4m3Bits = 0x7fu;
inline constexpr uint8_t kCanonicalNaNE5m2Bits = 0x7eu;

// Widening is exact: a change of representation, not arithmetic.
inline float ToFloat(Bf16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}
inline float ToFloat(F16 x) {
  const uint32_t sign = (x.bits & 0x8000u) << 16;
  const uint32_t rest = x.bits & 0x7fffu;
  if (rest >= 0x7c00u) {  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  }
  if (rest >= 0x0400u) {
    return std::bit_cast<float>(sign | ((rest << 13) + (112u << 23)));
  }
  const float size = static_cast<float>(rest) * 0x1p-24f;  // subnormal
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(size));
}
inline float ToFloat(E5m2 x) {
  return ToFloat(F16{static_cast<uint16_t>(x.bits << 8)});
}
inline float ToFloat(E4m3 x) {
  const uint32_t sign = (x.bits & 0x80u) << 24;
  const uint32_t rest = x.bits & 0x7fu;
  if (rest == 0x7fu) return std::bit_cast<float>(sign | kCanonicalNaNBits);
  if (rest >= 0x08u) {
    return std::bit_cast<float>(sign | ((rest << 20) + (120u << 23)));
  }
  const float size = static_cast<float>(rest) * 0x1p-9f;  // subnormal
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(size));
}
inline float ToFloat(float x) { return x; }

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_NUMERICS_H_
