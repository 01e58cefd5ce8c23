// The bf16 dot instruction, and the only home of operations whose order of
// summation is the hardware's (N5).
#if defined(LOCKSTEP_OPTIMIZED_SIMD_PACKED_DOT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_SIMD_PACKED_DOT_INL_H_
#undef LOCKSTEP_OPTIMIZED_SIMD_PACKED_DOT_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_SIMD_PACKED_DOT_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// acc + a . b per lane, for pairs of bf16 in u32 lanes: two fused
// multiply-adds, the upper halves first, then the lower (N5).
template <class D, class Pairs = hn::Vec<hn::RebindToUnsigned<D>>>
HWY_INLINE hn::Vec<D> UnpackedDot(D df, hn::Vec<D> acc, Pairs a, Pairs b) {
  const hn::RebindToUnsigned<D> du;
  const auto upper = hn::Set(du, 0xffff0000u);
  acc = hn::MulAdd(hn::BitCast(df, hn::And(a, upper)),
                   hn::BitCast(df, hn::And(b, upper)), acc);
  return hn::MulAdd(hn::BitCast(df, hn::ShiftLeft<16>(a)),
                    hn::BitCast(df, hn::ShiftLeft<16>(b)), acc);
}

// Does the same as one instruction, which also flushes subnormal inputs and
// results to zero whatever MXCSR says. By its intrinsic: Highway's portable
// name for it, ReorderWidenMulAccumulate, may sum in another order on another
// target.
#if HWY_TARGET == HWY_AVX3_ZEN4
template <class D, class Pairs = hn::Vec<hn::RebindToUnsigned<D>>>
HWY_INLINE hn::Vec<D> PackedDot(D /*df*/, hn::Vec<D> acc, Pairs a, Pairs b) {
  return hn::Vec<D>{_mm512_dpbf16_ps(acc.raw, reinterpret_cast<__m512bh>(a.raw),
                                     reinterpret_cast<__m512bh>(b.raw))};
}
#endif

// Two numbers of bf16 in a u32, the first as upper half: x [begin, end) ->
// pairs.
//   Requires: whole vectors around the range can be read and written.
template <class D>
HWY_INLINE void PackPairs(D df, const float* HWY_RESTRICT x, size_t begin,
                          size_t end, uint32_t* HWY_RESTRICT pairs) {
  const hn::RebindToUnsigned<D> du;
  const size_t lanes = hn::Lanes(df);
  const auto upper = hn::Set(du, 0xffff0000u);
  for (size_t j = begin / (2 * lanes) * (2 * lanes); j < end; j += 2 * lanes) {
    const auto low = hn::BitCast(du, hn::Load(df, x + j));
    const auto high = hn::BitCast(du, hn::Load(df, x + j + lanes));
    const auto even = hn::ConcatEven(du, high, low);
    const auto odd = hn::ConcatOdd(du, high, low);
    hn::Store(hn::Or(hn::And(even, upper), hn::ShiftRight<16>(odd)), du,
              pairs + j / 2);
  }
}

// Numbers of bf16, two vectors of them -> pairs, the first as lower half.
template <class D>
HWY_INLINE void StoreKeyPairs(D /*df*/, hn::Vec<D> first, hn::Vec<D> second,
                              uint32_t* HWY_RESTRICT pairs) {
  const hn::RebindToUnsigned<D> du;
  const hn::Repartition<uint16_t, D> d16;
  const auto upper_halves =
      hn::ConcatOdd(d16, hn::BitCast(d16, second), hn::BitCast(d16, first));
  hn::Store(hn::BitCast(du, upper_halves), du, pairs);
}

// Whether dot(acc, a, b) is UnpackedDot on operands that N5's guard lets
// through, the smallest normal sums among them.
template <class D, class Dot>
bool DotAgrees(D df, const Dot& dot) {
  const hn::RebindToUnsigned<D> du;
  // Exponents from 2^-56 (two of them multiply to 2^-112) to 2^60, signs,
  // rounding ties, cancellation, infinity and NaN; sums that are multiples of
  // 2^-126, as all partial ones are.
  constexpr uint32_t kHalves[] = {0x0000, 0x8000, 0x2380, 0xa380, 0x23ff,
                                  0x3f80, 0xbf80, 0x3f81, 0x3fff, 0x4049,
                                  0x5d80, 0xdd80, 0x7f80, 0xff80, 0x7fc0};
  constexpr float kSums[] = {0.0f, 0x1p-126f,       -0x1p-126f, 0x1.0004p-112f,
                             1.0f, -0x1.fffffep23f, 0x1p100f};
  // NaN as a class: no payload is promised.
  const auto bits = [&](hn::Vec<D> x) HWY_ATTR {
    return hn::BitCast(du, hn::IfThenElse(hn::IsNaN(x), hn::Set(df, 1.5f), x));
  };
  bool agrees = true;
  for (const uint32_t a : kHalves) {
    for (const uint32_t b : kHalves) {
      for (const uint32_t c : kHalves) {
        for (const float sum : kSums) {
          const auto x = hn::Set(du, a << 16 | c);
          const auto y = hn::Set(du, b << 16 | (c ^ 0x8000u));
          const auto acc = hn::Set(df, sum);
          agrees = agrees &&
                   hn::AllTrue(du, hn::Eq(bits(dot(acc, x, y)),
                                          bits(UnpackedDot(df, acc, x, y))));
        }
      }
    }
  }
  return agrees;
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
