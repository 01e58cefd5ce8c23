// Every line below is one or a few f32 operations in the stated order; the
// order is the contract. Derivations and error budgets: docs/elementary.md.
#include "reference/elementary.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/contract/coefficients.h"
#include "reference/contract/with_fma.h"

namespace lockstep::reference {
namespace {

LOCKSTEP_IN_BOTH inline uint32_t Bits(float x) {
  return std::bit_cast<uint32_t>(x);
}
LOCKSTEP_IN_BOTH inline float FromBits(uint32_t bits) {
  return std::bit_cast<float>(bits);
}

// c[0] + x (c[1] + x (c[2] + ...)), one fma per power, highest first.
template <int kTerms>
LOCKSTEP_IN_BOTH inline float Horner(const float (&c)[kTerms], float x) {
  float sum = c[kTerms - 1];
  for (int i = kTerms - 2; i >= 0; --i) sum = std::fma(sum, x, c[i]);
  return sum;
}

LOCKSTEP_IN_BOTH inline float Clamp(float x, float low, float high) {
  if (x < low) return low;
  return x > high ? high : x;
}

// g * 2^n for the n in the low bits of `rounded` = n + kRoundMagic, |n| < 192.
// Two powers of two, n halved: the first product is exact, the second rounds
// at most once (a subnormal result).
LOCKSTEP_IN_BOTH inline float ScaleByPowerOfTwo(float g, float rounded) {
  const int32_t n = static_cast<int32_t>(Bits(rounded) - Bits(kRoundMagic));
  const int32_t half = n >> 1;
  const float first = FromBits(static_cast<uint32_t>(half + 127) << 23);
  const float second = FromBits(static_cast<uint32_t>(n - half + 127) << 23);
  return (g * first) * second;
}

// e^x = 2^f * 2^n for kExpLow <= x <= kExpHigh, `rounded` = n + kRoundMagic.
struct ExpSplit {
  float f;
  float rounded;
};
LOCKSTEP_IN_BOTH inline ExpSplit SplitForExp(float x) {
  const float rounded = std::fma(x, kLog2EHigh, kRoundMagic);
  const float n = rounded - kRoundMagic;
  return {std::fma(x, kLog2ELow, std::fma(x, kLog2EHigh, -n)), rounded};
}

LOCKSTEP_IN_BOTH inline float ExpInRange(float x) {
  const ExpSplit split = SplitForExp(x);
  return ScaleByPowerOfTwo(Horner(kExp2Core, split.f), split.rounded);
}

// (2^f - 1) / f: Exp2Core without its last step.
LOCKSTEP_IN_BOTH inline float Exp2Slope(float f) {
  constexpr int kTerms = sizeof(kExp2Core) / sizeof(kExp2Core[0]);
  float sum = kExp2Core[kTerms - 1];
  for (int i = kTerms - 2; i >= 1; --i) sum = std::fma(sum, f, kExp2Core[i]);
  return sum;
}

LOCKSTEP_IN_BOTH inline float FlipSign(float x, uint32_t sign_bit) {
  return FromBits(Bits(x) ^ sign_bit);
}

// The functions themselves; elementary.h says what each of them is.
namespace both {

LOCKSTEP_IN_BOTH inline float Exp2Core(float f) { return Horner(kExp2Core, f); }

LOCKSTEP_IN_BOTH inline float Exp(float x) {
  return ExpInRange(Clamp(x, kExpLow, kExpHigh));
}

LOCKSTEP_IN_BOTH inline float Log2Core(float z) {
  const float t = z - 1.0f;
  return t * Horner(kLog2Core, t);
}

LOCKSTEP_IN_BOTH inline float TanhCore(float x) {
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

LOCKSTEP_IN_BOTH inline float Sigmoid(float x) {
  // With e = e^-|x| and s = e / (1 + e): 1 - s on the right and e - e s on
  // the left. Both are the quotient 1/(1+e) or e/(1+e), but the division's
  // and the sum's roundings weigh less.
  const float a = std::fabs(x);
  const float e = ExpInRange(a > -kExpLow ? kExpLow : -a);
  const float s = e / (1.0f + e);
  const float top = x < 0.0f ? e : 1.0f;
  return std::fma(-top, s, top);
}

LOCKSTEP_IN_BOTH inline float Softplus(float x) {
  // max(x, 0) + log(1 + e), e = e^-|x| as a sum of two: the rounding of e
  // alone would cost 0.45 ulp more.
  const float a = std::fabs(x);
  const ExpSplit split = SplitForExp(a > -kExpLow ? kExpLow : -a);
  const float slope = Exp2Slope(split.f);
  const float g = std::fma(slope, split.f, 1.0f);
  const float g_rest = std::fma(slope, split.f, 1.0f - g);
  const float e = ScaleByPowerOfTwo(g, split.rounded);
  const float e_rest = ScaleByPowerOfTwo(g_rest, split.rounded);
  const float p = Horner(kLog1pCore, e);
  const float top = x > 0.0f ? x : 0.0f;
  return std::fma(e, p, std::fma(e_rest, p, top));
}

LOCKSTEP_IN_BOTH inline SinCos SinCosTurnsCore(float x) {
  // x = n/4 + r, exact; n mod 4 says which of +-sin, +-cos of r is meant.
  const float rounded = std::fma(x, 4.0f, kRoundMagic);
  const float n = rounded - kRoundMagic;
  const float r = std::fma(n, -0.25f, x);
  const float r2 = r * r;
  const float s = std::fma(r, kTwoPi, r * Horner(kSinTurns, r2));
  const float c = std::fma(r2, Horner(kCosTurns, r2), 1.0f);
  const uint32_t quarter = Bits(rounded);
  const bool swap = (quarter & 1u) != 0;
  return SinCos{FlipSign(swap ? c : s, (quarter & 2u) << 30),
                FlipSign(swap ? s : c, ((quarter + 1u) & 2u) << 30)};
}

}  // namespace both

}  // namespace

float Exp2Core(float f) { return InBoth<both::Exp2Core>(f); }

float Exp2(float x) {
  if (std::isnan(x)) return CanonicalNaN(x);
  x = Clamp(x, kExp2Low, kExp2High);
  const float rounded = x + kRoundMagic;
  const float n = rounded - kRoundMagic;
  return ScaleByPowerOfTwo(Exp2Core(x - n), rounded);
}

float Exp(float x) {
  if (std::isnan(x)) return CanonicalNaN(x);
  return InBoth<both::Exp>(x);
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

float Log2Core(float z) { return InBoth<both::Log2Core>(z); }

float Log2(float x) {
  if (x == 0.0f) return -HUGE_VALF;
  if (!(x > 0.0f)) return CanonicalNaN(NAN);
  if (x == HUGE_VALF) return x;
  const Log2Split split = SplitForLog2(x);
  return split.k + Log2Core(split.z);
}

float TanhCore(float x) { return InBoth<both::TanhCore>(x); }

float Tanh(float x) { return CanonicalNaN(TanhCore(x)); }

float Sigmoid(float x) {
  if (std::isnan(x)) return CanonicalNaN(x);
  return InBoth<both::Sigmoid>(x);
}

float Silu(float x) { return CanonicalNaN(x * Sigmoid(x)); }

float Softplus(float x) {
  if (std::isnan(x)) return CanonicalNaN(x);
  return InBoth<both::Softplus>(x);
}

SinCos SinCosTurnsCore(float x) { return InBoth<both::SinCosTurnsCore>(x); }

Bf16 RoundToBf16(float x) {
  if (std::isnan(x)) return {kCanonicalNaNBf16Bits};
  // Adding just under half a unit, and one more if the unit is odd, carries
  // into the upper half exactly when rounding to even goes up.
  const uint32_t bits = Bits(x);
  const uint32_t odd = (bits >> 16) & 1u;
  return {static_cast<uint16_t>((bits + 0x7fffu + odd) >> 16)};
}

float RoundToBf16Lane(float x) { return ToFloat(RoundToBf16(x)); }

F16 RoundToF16(float x) {
  if (std::isnan(x)) return {kCanonicalNaNF16Bits};
  const uint32_t sign = (Bits(x) & 0x80000000u) >> 16;
  const uint32_t size = Bits(x) & 0x7fffffffu;
  if (size >= Bits(65520.0f)) return {static_cast<uint16_t>(sign | 0x7c00u)};
  const auto rounded = [](uint32_t bits, uint32_t drop) {
    const uint32_t odd = (bits >> drop) & 1u;
    return (bits + ((uint32_t{1} << (drop - 1)) - 1) + odd) >> drop;
  };
  if (size >= Bits(0x1p-14f)) {
    const uint32_t bits = rounded(size - (112u << 23), 13);
    return {static_cast<uint16_t>(sign | bits)};
  }
  // Subnormal: a count of 2^-24. Below 2^-25 nothing is left.
  const uint32_t drop = 126 - (size >> 23);
  const uint32_t significand = (size & 0x007fffffu) | 0x00800000u;
  const uint32_t count = drop > 25 ? 0 : rounded(significand, drop);
  return {static_cast<uint16_t>(sign | count)};
}

float RoundToLane(float x, Lane lane) {
  return WithAnyLane(lane, [&](auto element) {
    return ToFloat(ElementFrom<decltype(element)>(x));
  });
}

float RoundWeight(float p, Lane p_lane) {
  if (p_lane == Lane::kF32) return p;
  if (std::isnan(p)) return CanonicalNaN(p);
  // N10: f16's digits hold for subnormal numbers of f32, too. Both products are
  // exact, as what is rounded has no more digits than before.
  const float size = std::fabs(p);
  if (p_lane == Lane::kF16 && size > 0.0f && size < 0x1p-126f) {
    return RoundWeight(p * 0x1p24f, p_lane) * 0x1p-24f;
  }
  const int drop = 24 - LaneRowOf(p_lane).digits;
  const uint32_t half = (uint32_t{1} << (drop - 1)) - 1;
  const uint32_t odd = (Bits(p) >> drop) & 1u;
  return FromBits((Bits(p) + half + odd) >> drop << drop);
}

float CanonicalNaN(float x) {
  return std::isnan(x) ? FromBits(kCanonicalNaNBits) : x;
}

float FinishElement(float x, Lane lane) {
  x = RoundToLane(x, lane);
  return CanonicalNaN(x + 0.0f);
}

float Fold(float (&stripes)[kStripes]) {
  for (int w = kStripes / 2; w >= 1; w /= 2) {
    for (int r = 0; r < w; ++r) stripes[r] += stripes[r + w];
  }
  return stripes[0];
}

}  // namespace lockstep::reference
