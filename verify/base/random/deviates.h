// From uniform words (counter_generator.h) to the bits of an f32: the
// distributions that inputs are filled with.
#ifndef LOCKSTEP_VERIFY_BASE_RANDOM_DEVIATES_H_
#define LOCKSTEP_VERIFY_BASE_RANDOM_DEVIATES_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/contract/numerics.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::verify {

inline constexpr uint32_t kSign = 0x80000000u;
inline constexpr uint32_t kMantissa = 0x007fffffu;
inline constexpr uint32_t kExponentOne = 0x00800000u;  // exponent field 1
inline constexpr uint32_t kInfinity = 0x7f800000u;

inline uint32_t Bits(double x) {
  if (std::isnan(x)) return kCanonicalNaNBits;
  return std::bit_cast<uint32_t>(static_cast<float>(x));
}

// Round to nearest even in integers; a NaN keeps sign and upper payload, made
// quiet so that it stays a NaN.
inline uint16_t RoundBitsToBf16(uint32_t bits) {
  if ((bits & ~kSign) > kInfinity) {
    return static_cast<uint16_t>(bits >> 16 | 0x40u);
  }
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// The same to binary16: subnormal numbers are kept, 65520 is infinite.
inline uint16_t RoundBitsToF16(uint32_t bits) {
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t size = bits & ~kSign;
  const auto with_sign = [sign](uint32_t rest) {
    return static_cast<uint16_t>(sign | rest);
  };
  if (size > kInfinity) return with_sign(0x7e00u | (size >> 13 & 0x3ffu));
  const auto x = std::bit_cast<float>(size);
  if (x >= 65520.0f) return with_sign(0x7c00u);
  // Where f16 is subnormal, adding 1/2 leaves its spacing, 2^-24.
  if (x < 0x1p-14f) {
    return with_sign(std::bit_cast<uint32_t>(x + 0.5f) -
                     std::bit_cast<uint32_t>(0.5f));
  }
  const uint32_t half = 0x0fffu + (size >> 13 & 1u);
  return with_sign((size + half - (112u << 23)) >> 13);
}

// The same to a lane of 16 bits.
inline uint16_t RoundBitsToHalf(Lane lane, uint32_t bits) {
  if (lane == Lane::kBf16) return RoundBitsToBf16(bits);
  if (lane == Lane::kF16) return RoundBitsToF16(bits);
  return added_lane.round(std::bit_cast<float>(bits));
}

// The same to fp8. Values beyond the largest number become that number, as in
// converters that saturate. Infinity stays infinity in e5m2, and becomes NaN in
// e4m3, which has none.
inline uint8_t RoundBitsToFp8(Lane lane, uint32_t bits) {
  const auto sign = static_cast<uint8_t>(bits >> 24 & 0x80u);
  const uint32_t size = bits & ~kSign;
  const LaneRow& row = LaneRowOf(lane);
  if (size > kInfinity || (size == kInfinity && lane == Lane::kE4m3)) {
    return static_cast<uint8_t>(sign | row.nan);
  }
  if (size == kInfinity) return static_cast<uint8_t>(sign | 0x7cu);
  const auto x = static_cast<double>(std::bit_cast<float>(size));
  if (x == 0) return sign;
  const int fraction = row.digits - 1;
  const int exponent = std::max(std::ilogb(x), row.min_exponent);
  const double steps = std::nearbyint(std::ldexp(x, fraction - exponent));
  // The number's steps from zero, subnormal numbers included: the bits count
  // them.
  const double byte = steps + std::ldexp(exponent - row.min_exponent, fraction);
  const double most = lane == Lane::kE4m3 ? 0x7e : 0x7b;
  return static_cast<uint8_t>(sign |
                              static_cast<uint8_t>(std::min(byte, most)));
}

// Whether f32's and bf16's magnitudes leave the lane's range.
inline bool HasShortRange(Lane lane) {
  return LaneRowOf(lane).min_exponent > LaneRowOf(Lane::kBf16).min_exponent;
}

// The sum of eight 16-bit uniforms less its mean: an exact integer of 19 bits
// whose variance is (2/3) 2^32. The product with an f32 is exact in binary64,
// so the deviate is rounded once.
inline constexpr double kMeanOfEight = 8 * 32767.5;
inline constexpr double kDeviationOfEight = 65536;

inline int32_t SumOfEight(const std::array<uint32_t, 4>& draw) {
  uint32_t sum = 0;
  for (const uint32_t word : draw) sum += (word & 0xffffu) + (word >> 16);
  return static_cast<int32_t>(sum) - static_cast<int32_t>(kMeanOfEight);
}

inline float NormalFactor(double sigma, float scale) {
  const double factor =
      sigma * static_cast<double>(scale) * std::sqrt(1.5) / kDeviationOfEight;
  // 2^108 times the largest sum, below 2^18, is finite.
  return static_cast<float>(std::min(factor, 0x1p108));
}

inline uint32_t NormalBits(const std::array<uint32_t, 4>& draw, float factor) {
  return Bits(static_cast<double>(SumOfEight(draw)) *
              static_cast<double>(factor));
}

inline uint32_t UniformBits(uint32_t word, double low, double high) {
  const double fraction = static_cast<double>(word >> 8) * 0x1p-24;
  return Bits(std::fma(fraction, high - low, low));
}

inline uint32_t IntBits(uint32_t word, double low, double high) {
  const auto count = static_cast<uint64_t>(high - low) + 1;
  return Bits(low + static_cast<double>(word * count >> 32));
}

// A number below 2^32 is smaller than the result with probability `rate`.
inline uint64_t Threshold(double rate) {
  return static_cast<uint64_t>(rate * 4294967296.0);
}

// Magnitudes spread over the whole subnormal range of the lane.
inline uint32_t SubnormalBits(const std::array<uint32_t, 4>& draw, Lane lane) {
  const uint32_t sign = draw[1] & kSign;
  if (lane == Lane::kF32) {
    return sign | std::max(draw[2] % kExponentOne >> draw[3] % 23, 1u);
  }
  if (lane == Lane::kBf16) {
    return sign | std::max(draw[2] % 128 >> draw[3] % 7, 1u) << 16;
  }
  const auto fraction = static_cast<uint32_t>(LaneRowOf(lane).digits - 1);
  const uint32_t count =
      std::max(draw[2] % (1u << fraction) >> draw[3] % fraction, 1u);
  return sign | Bits(count * LaneRowOf(lane).smallest);
}

// Magnitudes of the lane's `binades` exponents from its smallest normal number
// on; `draw` as of a fill's modifier.
inline uint32_t TinyBits(const std::array<uint32_t, 4>& draw, Lane lane) {
  // f16 and e5m2 have 30 exponents, e4m3 has 15, f32 and bf16 have 254.
  const uint32_t binades = lane == Lane::kE4m3   ? 2
                           : HasShortRange(lane) ? 4
                                                 : 24;
  const auto least =
      static_cast<uint32_t>(LaneRowOf(lane).min_exponent + 126) * kExponentOne;
  return (draw[1] & kSign) | (least + (1 + draw[3] % binades) * kExponentOne) |
         (draw[2] & kMantissa);
}

// Magnitudes of the lane's largest exponent.
inline uint32_t HugeBits(const std::array<uint32_t, 4>& draw, Lane lane) {
  const auto most =
      std::bit_cast<uint32_t>(static_cast<float>(LaneRowOf(lane).largest)) &
      ~kMantissa;
  return (draw[1] & kSign) | most | (draw[2] & kMantissa);
}

inline uint32_t SpecialBits(const std::array<uint32_t, 4>& draw) {
  const uint32_t infinity = (draw[1] & kSign) | kInfinity;
  // Half NaN, with payloads of all kinds; some are signalling.
  return (draw[2] & 1) != 0 ? infinity | std::max(draw[3] & kMantissa, 1u)
                            : infinity;
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_RANDOM_DEVIATES_H_
