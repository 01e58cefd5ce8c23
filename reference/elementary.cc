// Every line below is one or a few f32 operations in the stated order; the
// order is the contract. Derivations and error budgets: docs/elementary.md.
#include "reference/elementary.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/contract/coefficients.h"

namespace lockstep::reference {
namespace {

uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }
float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

// c[0] + x (c[1] + x (c[2] + ...)), one fma per power, highest first.
template <int kTerms>
float Horner(const float (&c)[kTerms], float x) {
  float sum = c[kTerms - 1];
  for (int i = kTerms - 2; i >= 0; --i) sum = std::fma(sum, x, c[i]);
  return sum;
}

float Clamp(float x, float low, float high) {
  if (x < low) return low;
  return x > high ? high : x;
}

// g * 2^n for the n in the low bits of `rounded` = n + kRoundMagic, |n| < 192.
// Two powers of two, n halved: the first product is exact, the second rounds
// at most once (a subnormal result).
float ScaleByPowerOfTwo(float g, float rounded) {
  const int32_t n = static_cast<int32_t>(Bits(rounded) - Bits(kRoundMagic));
  const int32_t half = n >> 1;
  const float first = FromBits(static_cast<uint32_t>(half + 127) << 23);
  const float second = FromBits(static_cast<uint32_t>(n - half + 127) << 23);
  return (g * first) * second;
}

// e^x for kExpLow <= x <= kExpHigh.
float ExpInRange(float x) {
  const float rounded = std::fma(x, kLog2EHigh, kRoundMagic);
  const float n = rounded - kRoundMagic;
  const float f = std::fma(x, kLog2ELow, std::fma(x, kLog2EHigh, -n));
  return ScaleByPowerOfTwo(Exp2Core(f), rounded);
}

}  // namespace

float Exp2Core(float f) { return Horner(kExp2Core, f); }

float Exp2(float x) {
  if (std::isnan(x)) return CanonicalNaN(x);
  x = Clamp(x, kExp2Low, kExp2High);
  const float rounded = x + kRoundMagic;
  const float n = rounded - kRoundMagic;
  return ScaleByPowerOfTwo(Exp2Core(x - n), rounded);
}

float Exp(float x) {
  if (std::isnan(x)) return CanonicalNaN(x);
  return ExpInRange(Clamp(x, kExpLow, kExpHigh));
}

Log2Split SplitForLog2(float x) {
  // 2^23 makes a subnormal normal; its exponent goes back into k.
  const bool subnormal = x < 0x1p-126f;
  const uint32_t bits = Bits(subnormal ? x * 0x1p23f : x);
  const float lifted = subnormal ? 23.0f : 0.0f;
  // The smallest f32 above sqrt(1/2) is where the exponent steps.
  const int32_t offset = static_cast<int32_t>(bits - kSqrtHalfBits);
  const int32_t k = offset >> 23;
  const float z = FromBits(bits - (static_cast<uint32_t>(k) << 23));
  return {z, static_cast<float>(k) - lifted};
}

float Log2Core(float z) {
  const float t = z - 1.0f;
  return t * Horner(kLog2Core, t);
}

float Log2(float x) {
  if (x == 0.0f) return -HUGE_VALF;
  if (!(x > 0.0f)) return CanonicalNaN(NAN);
  if (x == HUGE_VALF) return x;
  const Log2Split split = SplitForLog2(x);
  return split.k + Log2Core(split.z);
}

float TanhCore(float x) {
  const float a = std::fabs(x);
  const float c = a > 1.0f ? 1.0f : a;  // a NaN stays
  const float c2 = c * c;
  const float c3 = c * c2;
  const float v = Horner(kTanhLarge, a);
  const float v2 = v * v;
  const float large = std::fma(v2, v2, kTanhScale * 0.5f);
  const float small = Horner(kTanhSmall, c2);
  const float denominator = large > small ? large : small;
  const float tanh = std::fma(-kTanhScale, c3 / denominator, c);
  return std::copysign(tanh, x);
}

float Tanh(float x) { return CanonicalNaN(TanhCore(x)); }

float Sigmoid(float x) {
  if (std::isnan(x)) return CanonicalNaN(x);
  // With e = e^-|x| and s = e / (1 + e): 1 - s on the right and e - e s on the
  // left. Both are the quotient 1/(1+e) or e/(1+e), but the division's and the
  // sum's roundings weigh less.
  const float a = std::fabs(x);
  const float e = ExpInRange(a > -kExpLow ? kExpLow : -a);
  const float s = e / (1.0f + e);
  const float top = x < 0.0f ? e : 1.0f;
  return std::fma(-top, s, top);
}

Bf16 RoundToBf16(float x) {
  if (std::isnan(x)) return {kCanonicalNaNBf16Bits};
  // Adding just under half a unit, and one more if the unit is odd, carries
  // into the upper half exactly when rounding to even goes up.
  const uint32_t bits = Bits(x);
  const uint32_t odd = (bits >> 16) & 1u;
  return {static_cast<uint16_t>((bits + 0x7fffu + odd) >> 16)};
}

float RoundToBf16Lane(float x) { return ToFloat(RoundToBf16(x)); }

float CanonicalNaN(float x) {
  return std::isnan(x) ? FromBits(kCanonicalNaNBits) : x;
}

}  // namespace lockstep::reference
