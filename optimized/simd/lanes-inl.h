// Elements of every lane from and to vectors of f32 (N1, N2, N10).
#if defined(LOCKSTEP_OPTIMIZED_SIMD_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_SIMD_LANES_INL_H_
#undef LOCKSTEP_OPTIMIZED_SIMD_LANES_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_SIMD_LANES_INL_H_
#endif

#include <bit>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/simd/elementary-inl.h"
#include "reference/contract/lanes.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bits of f16 values -> f32, exact. The processor's FTZ and DAZ modes do not
// affect conversions from or to f16.
template <class D>
HWY_INLINE hn::Vec<D> WidenF16(D d, hn::Vec<hn::Rebind<uint16_t, D>> bits) {
  const hn::Rebind<hwy::float16_t, D> half;
  return hn::PromoteTo(d, hn::BitCast(half, bits));
}

// The bits of x in f16, to nearest even. A NaN keeps its payload: CanonicalNaN
// comes first.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> PackF16(D /*d*/, hn::Vec<D> x) {
  const hn::Rebind<hwy::float16_t, D> half;
  const hn::Rebind<uint16_t, D> bits;
  return hn::BitCast(bits, hn::DemoteTo(half, x));
}

// N2 for f16, result in f32.
template <class D>
HWY_INLINE hn::Vec<D> RoundToF16Lane(D d, hn::Vec<D> x) {
  return UnlessNaN(d, x, WidenF16(d, PackF16(d, x)));
}

template <class D>
HWY_INLINE hn::Vec<D> RoundToLane(D d, Lane lane, hn::Vec<D> x) {
  if (lane == Lane::kBf16) return RoundToBf16Lane(d, x);
  if (lane == Lane::kF16) return RoundToF16Lane(d, x);
  return x;
}

// N10's weights: they have 24, 8 or 11 significant bits and f32's exponents,
// whatever the lane's are. A NaN gives any value, so the caller has to look for
// NaN itself.
template <Lane kLane, class D>
HWY_INLINE hn::Vec<D> RoundWeightCore(D d, hn::Vec<D> p) {
  if constexpr (kLane == Lane::kF32) return p;
  if constexpr (kLane == Lane::kBf16) return RoundToBf16LaneCore(d, p);
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, p);
  const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1u));
  const auto carried = hn::Add(hn::Add(bits, hn::Set(du, 0x0fffu)), odd);
  return hn::BitCast(d, hn::And(carried, hn::Set(du, 0xffffe000u)));
}

// The same with N2's NaN.
template <class D>
HWY_INLINE hn::Vec<D> RoundWeight(D d, Lane lane, hn::Vec<D> p) {
  if (lane == Lane::kBf16) return RoundToBf16Lane(d, p);
  if (lane != Lane::kF16) return p;
  return UnlessNaN(d, p, RoundWeightCore<Lane::kF16>(d, p));
}

// Widens fp8 bits in u32 lanes to f32, exactly (N25). Subnormal numbers are
// made from integers, so that neither DAZ nor the processor's treatment of
// subnormals matters. `kDigits` is the number of fraction bits. `kOffset` is
// the difference between f32's exponent bias and the lane's.
template <int kDigits, int kOffset, class D, class U = hn::RebindToUnsigned<D>>
HWY_INLINE hn::Vec<D> WidenFp8(D df, hn::Vec<U> bits, uint32_t first_special,
                               hn::Vec<U> special) {
  const U du;
  const hn::RebindToSigned<D> di;
  const auto size = hn::And(bits, hn::Set(du, 0x7fu));
  const auto normal = hn::Add(hn::ShiftLeft<23 - kDigits>(size),
                              hn::Set(du, uint32_t{kOffset} << 23));
  // 2^(kOffset + 1 - 127) is the smallest normal number.
  const auto unit =
      hn::Set(df, std::bit_cast<float>(uint32_t{kOffset + 1 - kDigits} << 23));
  const auto small =
      hn::BitCast(du, hn::Mul(hn::ConvertTo(df, hn::BitCast(di, size)), unit));
  auto wide =
      hn::IfThenElse(hn::Lt(size, hn::Set(du, 1u << kDigits)), small, normal);
  wide =
      hn::IfThenElse(hn::Lt(size, hn::Set(du, first_special)), wide, special);
  const auto sign = hn::ShiftLeft<24>(hn::And(bits, hn::Set(du, 0x80u)));
  return hn::BitCast(df, hn::Or(wide, sign));
}

// As many elements as there are lanes, widened.
template <class D>
HWY_INLINE hn::Vec<D> LoadWidened(D df, const E4m3* x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits =
      hn::PromoteTo(du, hn::LoadU(hn::Rebind<uint8_t, D>(), &x->bits));
  return WidenFp8<3, 120>(df, bits, 0x7fu, hn::Set(du, kCanonicalNaNBits));
}
template <class D>
HWY_INLINE hn::Vec<D> LoadWidened(D df, const E5m2* x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits =
      hn::PromoteTo(du, hn::LoadU(hn::Rebind<uint8_t, D>(), &x->bits));
  const auto payload = hn::ShiftLeft<21>(hn::And(bits, hn::Set(du, 3u)));
  return WidenFp8<2, 112>(df, bits, 0x7cu,
                          hn::Or(payload, hn::Set(du, 0x7f800000u)));
}
template <class D>
HWY_INLINE hn::Vec<D> LoadWidened(D df, const float* x) {
  return hn::LoadU(df, x);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadWidened(D df, const Bf16* x) {
  return WidenBf16(df, hn::LoadU(hn::Rebind<uint16_t, D>(), &x->bits));
}
template <class D>
HWY_INLINE hn::Vec<D> LoadWidened(D df, const F16* x) {
  return WidenF16(df, hn::LoadU(hn::Rebind<uint16_t, D>(), &x->bits));
}

// Values that RoundToLane returned, as elements `stride` apart.
inline void StoreRounded(const float* HWY_RESTRICT x, int64_t count,
                         int64_t stride, float* to) {
  for (int64_t c = 0; c < count; ++c) to[c * stride] = x[c];
}
inline void StoreRounded(const float* HWY_RESTRICT x, int64_t count,
                         int64_t stride, Bf16* to) {
  const auto upper_half = [](float value) {  // the lower half is zero
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  };
  if (stride == 1) {  // in vectors, as the compiler sees fit
    for (int64_t c = 0; c < count; ++c) to[c].bits = upper_half(x[c]);
    return;
  }
  for (int64_t c = 0; c < count; ++c) to[c * stride].bits = upper_half(x[c]);
}
inline void StoreRounded(const float* HWY_RESTRICT x, int64_t count,
                         int64_t stride, F16* to) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; stride == 1 && c + lanes <= count; c += lanes) {
    hn::StoreU(PackF16(d, hn::LoadU(d, x + c)), half, &to[c].bits);
  }
  const hn::CappedTag<float, 1> d1;
  for (; c < count; ++c) {
    to[c * stride].bits = hn::GetLane(PackF16(d1, hn::Set(d1, x[c])));
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
