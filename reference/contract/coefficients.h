// Written by generate_coefficients.py beside this file: do not edit.
//
// Constants of the elementary functions (N14), shared by reference/ and
// optimized/; the arithmetic is written twice. Polynomials: lowest power first.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_COEFFICIENTS_H_
#define LOCKSTEP_REFERENCE_CONTRACT_COEFFICIENTS_H_

namespace lockstep {
// clang-format off

// (x + kRoundMagic) - kRoundMagic is x rounded to an even integer for
// |x| < 2^22, and the low bits of the sum are that integer.
inline constexpr float kRoundMagic = 0x1.8p+23f;

// 2^f, |f| <= 1/2.
// Error of the fit: 0.089 * 2^-24.
inline constexpr float kExp2Core[] = {
    0x1p+0f,
    0x1.62e432p-1f,
    0x1.ebfbe6p-3f,
    0x1.c6ada8p-5f,
    0x1.3b21cap-7f,
    0x1.5fbc78p-10f,
    0x1.4bdc4p-13f,
};

// 2^x is 0 below this argument, and infinity above the next.
inline constexpr float kExp2Low = -0x1.2ep+7f;
inline constexpr float kExp2High = 0x1.02p+7f;

// The same for e^x.
inline constexpr float kExpLow = -0x1.a4p+6f;
inline constexpr float kExpHigh = 0x1.68p+6f;

// log2(e) = high + low: f = fma(x, low, fma(x, high, -n)).
inline constexpr float kLog2EHigh = 0x1.715476p+0f;
inline constexpr float kLog2ELow = 0x1.4ae0cp-26f;

// log2(1 + t) / t, 1 + t in [sqrt(1/2), sqrt 2).
// Error of the fit: 0.25 * 2^-24.
inline constexpr float kLog2Core[] = {
    0x1.715476p+0f,
    -0x1.71546ep-1f,
    0x1.ec7244p-2f,
    -0x1.715d3ep-2f,
    0x1.27274cp-2f,
    -0x1.e9b244p-3f,
    0x1.ae6466p-3f,
    -0x1.9ab3b8p-3f,
    0x1.40e758p-3f,
    -0x1.af648ap-5f,
};

// Bits of the smallest f32 above sqrt(1/2).
inline constexpr unsigned kSqrtHalfBits = 0x3f3504f4u;

// tanh(a) = c - s c^3 / D, c = min(a, 1), a >= 0, s = kTanhScale.
// Below 1 the denominator D is small(c^2), beyond large(a)^4 + s/2;
// the larger of the two is always the right one. s = 3 keeps the
// mantissas of large(a) away from 1, where rounding is coarsest.
inline constexpr float kTanhScale = 0x1.8p+1f;

// Polynomial in c^2.
// Error of the fit: 0.038 * 2^-24.
inline constexpr float kTanhSmall[] = {
    0x1.200004p+3f,
    0x1.cccc24p+1f,
    -0x1.17d04cp-6f,
    0x1.64fcfcp-11f,
};

// Polynomial in a.
// Error of the fit: 0.11 * 2^-24.
inline constexpr float kTanhLarge[] = {
    0x1.1b4322p+0f,
    0x1.1bb7d8p-1f,
    0x1.186ef4p-3f,
    0x1.8fd7fep-6f,
    0x1.15777p-9f,
    0x1.1f555ap-11f,
    -0x1.bbf8fep-16f,
    0x1.b55ac2p-18f,
};

// Below it sigmoid is subnormal, and silu has sigmoid's few bits.
inline constexpr float kSiluLow = -0x1.5cp+6f;

// Angles in turns are reduced exactly up to this size.
inline constexpr float kMaxTurns = 0x1p+20f;

// With x = n/4 + r turns, n an integer, |r| <= 1/8:
// sin(2 pi r) = r kTwoPi + r kSinTurns(r^2),
// cos(2 pi r) = 1 + r^2 kCosTurns(r^2).
inline constexpr float kTwoPi = 0x1.921fb6p+2f;

// Polynomial in r^2.
// Error of the fit: 0.058 * 2^-24.
inline constexpr float kSinTurns[] = {
    -0x1.a32b86p-23f,
    -0x1.4abbbap+5f,
    0x1.465eeap+6f,
    -0x1.2da156p+6f,
};

// Polynomial in r^2.
// Error of the fit: 0.0073 * 2^-24.
inline constexpr float kCosTurns[] = {
    -0x1.3bd3ccp+4f,
    0x1.03c1bp+6f,
    -0x1.55b2b6p+6f,
    0x1.d4f7ecp+5f,
};

// log(1 + e) / e, 0 <= e <= 1.
// Error of the fit: 0.089 * 2^-24.
inline constexpr float kLog1pCore[] = {
    0x1p+0f,
    -0x1.ffffd2p-2f,
    0x1.554ddp-2f,
    -0x1.ff23e6p-3f,
    0x1.934b54p-3f,
    -0x1.3a435ep-3f,
    0x1.b4ae08p-4f,
    -0x1.d6b08cp-5f,
    0x1.4917cep-6f,
    -0x1.af49cep-9f,
};

// Largest error in ulp (distance to the exact value, in units of
// the last place of the exact value) over all arguments, and the
// bits of an argument where it occurs. elementary_sweep asserts
// both; documents and error envelopes name them.
struct ElementaryBound {
  const char* name;
  double max_ulp;
  unsigned witness;
};
inline constexpr ElementaryBound kExp2CoreBound = {
    "Exp2Core", 0.834, 0xbeffd263u};
inline constexpr ElementaryBound kExp2Bound = {
    "Exp2", 0.894, 0xc2fcffc9u};
inline constexpr ElementaryBound kExpBound = {
    "Exp", 1.024, 0xc1f135f0u};
inline constexpr ElementaryBound kLog2CoreBound = {
    "Log2Core", 1.651, 0x3fb239cfu};
inline constexpr ElementaryBound kLog2Bound = {
    "Log2", 1.651, 0x3fb239cfu};
inline constexpr ElementaryBound kTanhBound = {
    "Tanh", 1.768, 0x3f9a3faeu};
inline constexpr ElementaryBound kSigmoidBound = {
    "Sigmoid", 1.748, 0xbeae05b6u};
inline constexpr ElementaryBound kSiluBound = {
    "Silu", 2.705, 0x3d76d153u};
inline constexpr ElementaryBound kSoftplusBound = {
    "Softplus", 1.791, 0xbedee4a1u};
inline constexpr ElementaryBound kSinTurnsBound = {
    "SinTurns", 1.050, 0x00271642u};
inline constexpr ElementaryBound kCosTurnsBound = {
    "CosTurns", 0.875, 0x3dfdac73u};

// clang-format on
}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_COEFFICIENTS_H_
