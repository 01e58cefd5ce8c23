// Softcap and softmax of one row of scores, in place: scores -> weights, and
// the row's sixteen partial sums. Lanes are keys; nothing crosses lanes but
// maxima and minima, which are exact.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_WEIGHTS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_WEIGHTS_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_WEIGHTS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_WEIGHTS_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "optimized/attention_work.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/lanes-inl.h"
#include "reference/contract/coefficients.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 2^(n + offset) from `sum` = n + kRoundMagic, n + offset in [-126, 127]. A NaN
// gives some number: multiply by it, so that a NaN factor stays one.
template <class D>
HWY_INLINE hn::Vec<D> PowerOfTwoFromSum(D df, hn::Vec<D> sum, int offset = 0) {
  const hn::RebindToSigned<D> di;
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, sum));
  const uint32_t bias = static_cast<uint32_t>(127 + offset) << 23;
  return hn::BitCast(
      df, hn::Add(exponent, hn::Set(di, static_cast<int32_t>(bias))));
}

// ScoreScale in vectors: read once, because a store of weights might change
// the job's floats as far as the compiler knows.
template <class D>
struct VectorScale {
  hn::Vec<D> inner;
  hn::Vec<D> outer;
};

template <class D>
HWY_INLINE VectorScale<D> InVectors(D df, const ScoreScale& scale) {
  return {hn::Set(df, scale.inner), hn::Set(df, scale.outer)};
}

// N7: scores in units of log2.
template <bool kCapped, class D>
HWY_INLINE hn::Vec<D> ScoreInLog2(D df, const VectorScale<D>& scale,
                                  hn::Vec<D> dot) {
  const auto inner = hn::Mul(dot, scale.inner);
  if constexpr (!kCapped) return inner;
  return hn::Mul(scale.outer, TanhCore(df, inner));
}

// N9: 2^(u - m) * 2^shift, +0 below the exponent range, NaN for NaN.
template <class D>
HWY_INLINE hn::Vec<D> Weight(D df, hn::Vec<D> u, hn::Vec<D> m,
                             hn::Vec<D> shift) {
  const auto n = hn::Round(u);
  const auto e = hn::Add(hn::Sub(n, m), shift);
  const auto g = Exp2Core(df, hn::Sub(u, n));
  const auto power =
      PowerOfTwoFromSum(df, hn::Add(e, hn::Set(df, kRoundMagic)));
  // The condition is for zero, so that a NaN score reaches the row sum (N13).
  return hn::IfThenZeroElse(hn::Lt(e, hn::Set(df, kMinExponent)),
                            hn::Mul(g, power));
}

// Bits j, j + 1, .. as a mask. Vectors of four lanes start within a byte, and
// LoadMaskBits reads from its lowest bit.
template <class D>
HWY_INLINE hn::Mask<D> VisibleFrom(D df, const uint8_t* bits, size_t j) {
  if constexpr (hn::MaxLanes(D()) >= 8) {
    return hn::LoadMaskBits(df, bits + j / 8);
  } else {  // which reads eight bytes
    const uint8_t shifted[8] = {static_cast<uint8_t>(bits[j / 8] >> (j % 8))};
    return hn::LoadMaskBits(df, shifted);
  }
}

// One row of a tile: keys [begin, end) of it, multiples of kStripes.
struct RowSlice {
  float* HWY_RESTRICT weights = nullptr;  // scores in, weights out
  float* HWY_RESTRICT stripes = nullptr;  // [kStripes], added to
  const uint8_t* bits = nullptr;          // visibility, from key 0 of the tile
  size_t begin = 0;
  size_t end = 0;
  Lane p_lane = Lane::kF32;  // N10: the numerator's
  // N25: the scale of each key of the tile; null if keys share their scale.
  const float* HWY_RESTRICT key_scales = nullptr;
  const float* HWY_RESTRICT value_scales = nullptr;
};

// Calls weight(vector of scores, index of its first key) for every vector of
// the slice, stores what it returns as weights and adds it to the stripes.
template <Lane kLane, class D, class F>
HWY_INLINE void ForWeightsT(D df, const RowSlice& row, const F& weight) {
  const size_t lanes = hn::Lanes(df);
  constexpr size_t kVectors = kStripes / hn::MaxLanes(D());
  hn::Vec<D> sums[kVectors];
  HWY_UNROLL(4)
  for (size_t v = 0; v < kVectors; ++v) {
    sums[v] = hn::Load(df, row.stripes + v * lanes);
  }
  for (size_t j = row.begin; j < row.end; j += kStripes) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t key = j + v * lanes;
      const auto p = weight(hn::Load(df, row.weights + key), key);
      sums[v] = hn::Add(sums[v], p);  // N10: the sum takes the unrounded one
      hn::Store(RoundWeightCore<kLane>(df, p), df, row.weights + key);
    }
  }
  HWY_UNROLL(4)
  for (size_t v = 0; v < kVectors; ++v) {
    hn::Store(sums[v], df, row.stripes + v * lanes);
  }
}

template <class D, class F>
HWY_INLINE void ForWeights(D df, const RowSlice& row, const F& weight) {
  switch (row.p_lane) {
    case Lane::kBf16:
      return ForWeightsT<Lane::kBf16>(df, row, weight);
    case Lane::kF16:
      return ForWeightsT<Lane::kF16>(df, row, weight);
    default:
      return ForWeightsT<Lane::kF32>(df, row, weight);
  }
}

// N25: multiplies dot products by the scales of their keys.
template <class D>
HWY_INLINE void ScaleDots(D df, const RowSlice& row) {
  for (size_t j = row.begin; j < row.end; j += hn::Lanes(df)) {
    const auto dot = hn::Load(df, row.weights + j);
    hn::Store(hn::Mul(dot, hn::Load(df, row.key_scales + j)), df,
              row.weights + j);
  }
}

// N25: multiplies dot products by the scale of their query.
template <class D>
HWY_INLINE void ScaleDotsBy(D df, float scale, const RowSlice& row) {
  const auto factor = hn::Set(df, scale);
  for (size_t j = row.begin; j < row.end; j += hn::Lanes(df)) {
    const auto dot = hn::Load(df, row.weights + j);
    hn::Store(hn::Mul(dot, factor), df, row.weights + j);
  }
}

// RoundWeightCore of a weight times a scale, which may be subnormal (N25). Both
// products with a power of two are exact. Requires: p >= 0.
template <Lane kLane, class D>
HWY_INLINE hn::Vec<D> RoundScaledWeightCore(D d, hn::Vec<D> p) {
  const auto rounded = RoundWeightCore<kLane>(d, p);
  if constexpr (kLane != Lane::kF16) return rounded;
  const auto raised = hn::Mul(p, hn::Set(d, 0x1p24f));
  const auto small =
      hn::Mul(RoundWeightCore<kLane>(d, raised), hn::Set(d, 0x1p-24f));
  return hn::IfThenElse(hn::Lt(p, hn::Set(d, 0x1p-126f)), small, rounded);
}

// N25: multiplies weights by the scales of their values, then rounds (N10).
template <Lane kLane, class D>
HWY_INLINE void ScaleWeightsT(D df, const RowSlice& row) {
  for (size_t j = row.begin; j < row.end; j += hn::Lanes(df)) {
    const auto p = hn::Mul(hn::Load(df, row.weights + j),
                           hn::Load(df, row.value_scales + j));
    hn::Store(RoundScaledWeightCore<kLane>(df, p), df, row.weights + j);
  }
}

template <class D>
HWY_INLINE void ScaleWeights(D df, Lane p_lane, const RowSlice& row) {
  switch (p_lane) {
    case Lane::kBf16:
      return ScaleWeightsT<Lane::kBf16>(df, row);
    case Lane::kF16:
      return ScaleWeightsT<Lane::kF16>(df, row);
    default:
      return ScaleWeightsT<Lane::kF32>(df, row);
  }
}

// Fixed-m path, first half: dots -> u. Only a softcap bounds them. A loop of
// its own: tanh and 2^u in one loop form a chain of 100 cycles, and the core
// overlaps few of these. The chain cost a third of the weights' time.
template <class D>
HWY_INLINE void FixedScores(D df, const ScoreScale& scale,
                            const RowSlice& row) {
  const auto in_vectors = InVectors(df, scale);
  for (size_t j = row.begin; j < row.end; j += hn::Lanes(df)) {
    const auto dot = hn::Load(df, row.weights + j);
    hn::Store(ScoreInLog2<true>(df, in_vectors, dot), df, row.weights + j);
  }
}

// Second half, u -> 2^(u + offset), where no exponent can leave the range of
// normal numbers and |u| < 2^22: on the fixed-m path by the softcap's bound, on
// the online path by NearWeightsAreExact(). kMasked: keys whose bit is 0 get +0
// by select (N8).
template <bool kMasked, class D>
HWY_INLINE void NearWeights(D df, int offset, const RowSlice& row) {
  const auto magic = hn::Set(df, kRoundMagic);
  ForWeights(df, row, [&](hn::Vec<D> u, size_t j) HWY_ATTR {
    const auto sum = hn::Add(u, magic);
    const auto g = Exp2Core(df, hn::Sub(u, hn::Sub(sum, magic)));
    const auto p = hn::Mul(g, PowerOfTwoFromSum(df, sum, offset));
    if constexpr (!kMasked) return p;
    return hn::IfThenElseZero(VisibleFrom(df, row.bits, j), p);
  });
}

// Whether NearWeights gives the weights of OnlineWeights for all integer scores
// from n_min to m: none is +0, none too large for its rounding. False for NaN.
inline bool NearWeightsAreExact(float n_min, float m) {
  constexpr float kLargest = 0x1p20f;
  return m >= -kLargest && m <= kLargest &&
         n_min - m + kWeightShift >= kMinExponent;
}

// Extremes of the integer scores n of a row slice.
struct Extremes {
  float max = -std::numeric_limits<float>::infinity();
  float min = std::numeric_limits<float>::infinity();
};

// Online path, first half: dots -> u, masked ones -infinity. NaN takes part in
// neither extreme (N13).
template <bool kMasked, bool kCapped, class D>
HWY_INLINE Extremes OnlineScoresT(D df, const ScoreScale& scale,
                                  const RowSlice& row) {
  const auto in_vectors = InVectors(df, scale);
  const auto lowest = hn::Set(df, Extremes().max);
  const auto highest = hn::Set(df, Extremes().min);
  auto max = lowest;
  auto min = highest;
  for (size_t j = row.begin; j < row.end; j += hn::Lanes(df)) {
    const auto dot = hn::Load(df, row.weights + j);
    const auto u = ScoreInLog2<kCapped>(df, in_vectors, dot);
    if constexpr (kMasked) {
      const auto visible = VisibleFrom(df, row.bits, j);
      const auto masked_low = hn::IfThenElse(visible, u, lowest);
      max = hn::Max(masked_low, max);
      min = hn::Min(hn::IfThenElse(visible, u, highest), min);
      hn::Store(masked_low, df, row.weights + j);
    } else {
      max = hn::Max(u, max);
      min = hn::Min(u, min);
      hn::Store(u, df, row.weights + j);
    }
  }
  return {hn::ReduceMax(df, hn::Round(max)), hn::ReduceMin(df, hn::Round(min))};
}

template <bool kMasked, class D>
HWY_INLINE Extremes OnlineScores(D df, const ScoreScale& scale,
                                 const RowSlice& row) {
  return scale.capped ? OnlineScoresT<kMasked, true>(df, scale, row)
                      : OnlineScoresT<kMasked, false>(df, scale, row);
}

// Online path, second half: u -> weights relative to m, however far below. A
// masked u is -inf and gets +0.
template <class D>
HWY_INLINE void OnlineWeights(D df, float m, const RowSlice& row) {
  const auto vm = hn::Set(df, m);
  const auto shift = hn::Set(df, kWeightShift);
  ForWeights(df, row, [&](hn::Vec<D> u, size_t) HWY_ATTR {
    return Weight(df, u, vm, shift);
  });
}

// Multiplies by 2^exponent, exponent <= 0 and integer-valued, in two steps:
// one factor below 2^-126 would not be a normal f32. Exact while the row's
// guard holds (N9).
template <class D>
HWY_INLINE void ScaleDown(D df, float exponent, float* HWY_RESTRICT x,
                          size_t count) {
  const float first = exponent < -126.0f ? -126.0f : exponent;
  const float rest = exponent - first < -126.0f ? -126.0f : exponent - first;
  const auto magic = hn::Set(df, kRoundMagic);
  const auto a = PowerOfTwoFromSum(df, hn::Add(hn::Set(df, first), magic));
  const auto b = PowerOfTwoFromSum(df, hn::Add(hn::Set(df, rest), magic));
  for (size_t i = 0; i < count; i += hn::Lanes(df)) {
    hn::Store(hn::Mul(hn::Mul(hn::Load(df, x + i), a), b), df, x + i);
  }
}

// Exponents from which on nothing is left of any f32: 2^128 * 2^-278 is half of
// the smallest number, which rounds to 0.
inline constexpr float kNothingLeft = -278.0f;

// N22: a factor 2^exponent, exponent <= 0 and integer-valued, that rounds once.
// In three steps, because a factor below 2^-126 is not normal. What the first
// two have to round is so small that nothing is left of it behind the last.
template <class D>
struct RoundedOnce {
  hn::Vec<D> first, second, last;

  HWY_INLINE hn::Vec<D> operator()(hn::Vec<D> x) const {
    return hn::Mul(hn::Mul(hn::Mul(x, first), second), last);
  }
};

template <class D>
HWY_INLINE RoundedOnce<D> ScaleOnce(D df, float exponent) {
  const float all = exponent < kNothingLeft ? kNothingLeft : exponent;
  const float last = all < -126.0f ? -126.0f : all;
  const float first = std::floor((all - last) * 0.5f);
  const auto power = [&](float e) HWY_ATTR {
    return PowerOfTwoFromSum(df, hn::Set(df, e + kRoundMagic));
  };
  return {power(first), power(all - last - first), power(last)};
}

// *sum += part * 2^exponent.
template <class D1>
HWY_INLINE void AddScaledOnce(D1 d1, float exponent, float* sum, float part) {
  const auto x = ScaleOnce(d1, exponent)(hn::Set(d1, part));
  *sum = hn::GetLane(hn::Add(hn::Set(d1, *sum), x));
}

// The same of `count` sums. Requires: whole vectors.
template <class D>
HWY_INLINE void AddScaledOnce(D df, float exponent,
                              const float* HWY_RESTRICT part, size_t count,
                              float* HWY_RESTRICT sums) {
  const RoundedOnce<D> scaled = ScaleOnce(df, exponent);
  for (size_t c = 0; c < count; c += hn::Lanes(df)) {
    const auto x = scaled(hn::Load(df, part + c));
    hn::Store(hn::Add(hn::Load(df, sums + c), x), df, sums + c);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
