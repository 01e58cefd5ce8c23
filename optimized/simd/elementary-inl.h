// Vector twins of reference/elementary.h (N14): the same f32 operations in the
// same order, one lane an argument, so the same bits on every target. Meaning,
// domain and errors stand there; only what vectors add is said here.
//
// A ...Core function returns some NaN for a NaN; the others the canonical one.
#if defined(LOCKSTEP_OPTIMIZED_SIMD_ELEMENTARY_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_SIMD_ELEMENTARY_INL_H_
#undef LOCKSTEP_OPTIMIZED_SIMD_ELEMENTARY_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_SIMD_ELEMENTARY_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#include "hwy/highway.h"
#include "reference/contract/coefficients.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// y, but the canonical quiet NaN where x is a NaN.
template <class D>
HWY_INLINE hn::Vec<D> UnlessNaN(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const hn::RebindToUnsigned<D> du;
  const auto nan = hn::BitCast(d, hn::Set(du, kCanonicalNaNBits));
  return hn::IfThenElse(hn::IsNaN(x), nan, y);
}

template <class D>
HWY_INLINE hn::Vec<D> CanonicalNaN(D d, hn::Vec<D> x) {
  return UnlessNaN(d, x, x);
}

// The smaller of x and limit; a NaN in x stays. Min() keeps its second operand
// on x86, and does not say what it does elsewhere.
template <class D>
HWY_INLINE hn::Vec<D> MinKeepNaN(D d, float limit, hn::Vec<D> x) {
  const auto vlimit = hn::Set(d, limit);
#if HWY_ARCH_X86
  return hn::Min(vlimit, x);
#else
  return hn::IfThenElse(hn::Gt(x, vlimit), vlimit, x);
#endif
}

// The first kStep... steps of Horner's scheme, highest power first.
template <class D, size_t kTerms, size_t... kStep>
HWY_INLINE hn::Vec<D> HornerSteps(D d, const float (&c)[kTerms], hn::Vec<D> x,
                                  std::index_sequence<kStep...>) {
  auto sum = hn::Set(d, c[kTerms - 1]);
  ((sum = hn::MulAdd(sum, x, hn::Set(d, c[kTerms - 2 - kStep]))), ...);
  return sum;
}

// One fma per power, highest first, unrolled whatever the compiler. Estrin's
// scheme costs operations, and the callers' loops have independent vectors
// enough to hide the chain.
template <class D, size_t kTerms>
HWY_INLINE hn::Vec<D> Horner(D d, const float (&c)[kTerms], hn::Vec<D> x) {
  return HornerSteps(d, c, x, std::make_index_sequence<kTerms - 1>());
}

template <class D>
HWY_INLINE hn::Vec<D> Exp2Core(D d, hn::Vec<D> f) {
  return Horner(d, kExp2Core, f);
}

// g * 2^n, `rounded` = n + kRoundMagic, |n| < 192: an exact product, then one
// that rounds at most once.
template <class D>
HWY_INLINE hn::Vec<D> ScaleByPowerOfTwo(D d, hn::Vec<D> g, hn::Vec<D> rounded) {
  const hn::RebindToSigned<D> di;
  const auto magic = hn::BitCast(di, hn::Set(d, kRoundMagic));
  const auto bias = hn::Set(di, 127);
  const auto n = hn::Sub(hn::BitCast(di, rounded), magic);
  const auto half = hn::ShiftRight<1>(n);
  const auto first = hn::ShiftLeft<23>(hn::Add(half, bias));
  const auto second = hn::ShiftLeft<23>(hn::Add(hn::Sub(n, half), bias));
  return hn::Mul(hn::Mul(g, hn::BitCast(d, first)), hn::BitCast(d, second));
}

template <class D>
HWY_INLINE hn::Vec<D> Exp2(D d, hn::Vec<D> x) {
  const auto in_range = hn::Min(hn::Max(x, hn::Set(d, kExp2Low)),  //
                                hn::Set(d, kExp2High));
  const auto magic = hn::Set(d, kRoundMagic);
  const auto rounded = hn::Add(in_range, magic);
  const auto f = hn::Sub(in_range, hn::Sub(rounded, magic));
  const auto y = ScaleByPowerOfTwo(d, Exp2Core(d, f), rounded);
  return UnlessNaN(d, x, y);
}

// e^x = 2^f * 2^n for kExpLow <= x <= kExpHigh, `rounded` = n + kRoundMagic.
template <class D>
struct ExpSplit {
  hn::Vec<D> f;
  hn::Vec<D> rounded;
};

template <class D>
HWY_INLINE ExpSplit<D> SplitForExp(D d, hn::Vec<D> x) {
  const auto magic = hn::Set(d, kRoundMagic);
  const auto log2e = hn::Set(d, kLog2EHigh);
  const auto rounded = hn::MulAdd(x, log2e, magic);
  const auto n = hn::Sub(rounded, magic);
  const auto f = hn::MulAdd(x, hn::Set(d, kLog2ELow), hn::MulSub(x, log2e, n));
  return {f, rounded};
}

template <class D>
HWY_INLINE hn::Vec<D> ExpInRange(D d, hn::Vec<D> x) {
  const auto split = SplitForExp(d, x);
  return ScaleByPowerOfTwo(d, Exp2Core(d, split.f), split.rounded);
}

template <class D>
HWY_INLINE hn::Vec<D> Exp(D d, hn::Vec<D> x) {
  const auto in_range =
      hn::Min(hn::Max(x, hn::Set(d, kExpLow)), hn::Set(d, kExpHigh));
  return UnlessNaN(d, x, ExpInRange(d, in_range));
}

template <class D>
struct Log2Split {
  hn::Vec<D> z;
  hn::Vec<D> k;
};

template <class D>
HWY_INLINE Log2Split<D> SplitForLog2(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto subnormal = hn::Lt(x, hn::Set(d, 0x1p-126f));
  const auto lifted =
      hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, 0x1p23f)), x);
  const auto bits = hn::BitCast(di, lifted);
  const auto step = hn::Set(di, static_cast<int32_t>(kSqrtHalfBits));
  const auto k = hn::ShiftRight<23>(hn::Sub(bits, step));
  const auto z = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(k)));
  const auto unlift = hn::IfThenElseZero(subnormal, hn::Set(d, 23.0f));
  return {z, hn::Sub(hn::ConvertTo(d, k), unlift)};
}

template <class D>
HWY_INLINE hn::Vec<D> Log2Core(D d, hn::Vec<D> z) {
  const auto t = hn::Sub(z, hn::Set(d, 1.0f));
  return hn::Mul(t, Horner(d, kLog2Core, t));
}

template <class D>
HWY_INLINE hn::Vec<D> Log2(D d, hn::Vec<D> x) {
  const auto zero = hn::Zero(d);
  const auto infinity = hn::Inf(d);
  const auto split = SplitForLog2(d, x);
  auto y = hn::Add(split.k, Log2Core(d, split.z));
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  const auto defined = hn::Ge(x, zero);  // false for NaN
  return hn::IfThenElse(defined, y, CanonicalNaN(d, hn::NaN(d)));
}

// Without a branch, a table or an integer: one division and 13 multiply class
// operations. The two denominators meet at |x| = 1, and the larger one is
// right on either side.
template <class D>
HWY_INLINE hn::Vec<D> TanhCore(D d, hn::Vec<D> x) {
  const auto scale = hn::Set(d, kTanhScale);
  const auto a = hn::Abs(x);
  const auto c = MinKeepNaN(d, 1.0f, a);
  const auto c2 = hn::Mul(c, c);
  const auto c3 = hn::Mul(c, c2);
  const auto v = Horner(d, kTanhLarge, a);
  const auto v2 = hn::Mul(v, v);
  const auto large = hn::MulAdd(v2, v2, hn::Set(d, kTanhScale * 0.5f));
  const auto small = Horner(d, kTanhSmall, c2);
  const auto quotient = hn::Div(c3, hn::Max(large, small));
  return hn::CopySignToAbs(hn::NegMulAdd(scale, quotient, c), x);
}

template <class D>
HWY_INLINE hn::Vec<D> Tanh(D d, hn::Vec<D> x) {
  return CanonicalNaN(d, TanhCore(d, x));
}

template <class D>
HWY_INLINE hn::Vec<D> Sigmoid(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0f);
  const auto down = hn::Max(hn::Neg(hn::Abs(x)), hn::Set(d, kExpLow));
  const auto e = ExpInRange(d, down);
  const auto top = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
  const auto s = hn::Div(e, hn::Add(one, e));
  const auto y = hn::NegMulAdd(top, s, top);
  return UnlessNaN(d, x, y);
}

template <class D>
HWY_INLINE hn::Vec<D> Silu(D d, hn::Vec<D> x) {
  return CanonicalNaN(d, hn::Mul(x, Sigmoid(d, x)));
}

template <class D>
HWY_INLINE hn::Vec<D> Softplus(D d, hn::Vec<D> x) {
  constexpr size_t kTerms = sizeof(kExp2Core) / sizeof(kExp2Core[0]);
  const auto one = hn::Set(d, 1.0f);
  const auto down = hn::Max(hn::Neg(hn::Abs(x)), hn::Set(d, kExpLow));
  const auto split = SplitForExp(d, down);
  // All of Exp2Core's steps but the last, which has two parts here.
  const auto slope = HornerSteps(d, kExp2Core, split.f,
                                 std::make_index_sequence<kTerms - 2>());
  const auto g = hn::MulAdd(slope, split.f, one);
  const auto g_rest = hn::MulAdd(slope, split.f, hn::Sub(one, g));
  const auto e = ScaleByPowerOfTwo(d, g, split.rounded);
  const auto e_rest = ScaleByPowerOfTwo(d, g_rest, split.rounded);
  const auto p = Horner(d, kLog1pCore, e);
  const auto top = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), x);
  return UnlessNaN(d, x, hn::MulAdd(e, p, hn::MulAdd(e_rest, p, top)));
}

template <class D>
struct SinCos {
  hn::Vec<D> sin;
  hn::Vec<D> cos;
};

template <class D>
HWY_INLINE SinCos<D> SinCosTurnsCore(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto magic = hn::Set(d, kRoundMagic);
  const auto rounded = hn::MulAdd(x, hn::Set(d, 4.0f), magic);
  const auto n = hn::Sub(rounded, magic);
  const auto r = hn::MulAdd(n, hn::Set(d, -0.25f), x);
  const auto r2 = hn::Mul(r, r);
  const auto rest = hn::Mul(r, Horner(d, kSinTurns, r2));
  const auto s = hn::MulAdd(r, hn::Set(d, kTwoPi), rest);
  const auto c = hn::MulAdd(r2, Horner(d, kCosTurns, r2), hn::Set(d, 1.0f));
  const auto quarter = hn::BitCast(du, rounded);
  const auto one = hn::Set(du, 1u);
  const auto two = hn::Set(du, 2u);
  const auto swap = hn::RebindMask(d, hn::Eq(hn::And(quarter, one), one));
  const auto sin_sign = hn::ShiftLeft<30>(hn::And(quarter, two));
  const auto cos_sign = hn::ShiftLeft<30>(hn::And(hn::Add(quarter, one), two));
  return {hn::Xor(hn::IfThenElse(swap, c, s), hn::BitCast(d, sin_sign)),
          hn::Xor(hn::IfThenElse(swap, s, c), hn::BitCast(d, cos_sign))};
}

// N2 without the NaN rule, result in f32: for a caller that looks for NaN
// elsewhere. A NaN gives any value, finite ones included.
template <class D>
HWY_INLINE hn::Vec<D> RoundToBf16LaneCore(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto carried = hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
  return hn::BitCast(d, hn::And(carried, hn::Set(du, 0xffff0000u)));
}

// N2, result in f32.
template <class D>
HWY_INLINE hn::Vec<D> RoundToBf16Lane(D d, hn::Vec<D> x) {
  return UnlessNaN(d, x, RoundToBf16LaneCore(d, x));
}

// Upper halves of values that RoundToBf16Lane returned, one u16 per lane.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> PackBf16(D /*d*/,
                                                     hn::Vec<D> rounded) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> du16;
  return hn::TruncateTo(du16, hn::ShiftRight<16>(hn::BitCast(du, rounded)));
}

// Bits of bf16 values -> f32, exact.
template <class D>
HWY_INLINE hn::Vec<D> WidenBf16(D d, hn::Vec<hn::Rebind<uint16_t, D>> bits) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
