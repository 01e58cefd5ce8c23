// Products in the steps of a GPU's matrix unit (order=ampere, order=hopper;
// N21) on panels of f32, beside which panels of exponents lie. A step of all
// lanes: the largest exponent, then every product times a power of two, cut to
// an integer.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_STEPS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_STEPS_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_STEPS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_STEPS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "optimized/attention_work.h"
#include "optimized/simd/registers-inl.h"
#include "optimized/unit_step.h"
#include "reference/contract/matrix_units.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Exponents of factors as i16. The sum with a zero's is below every other, that
// with an infinity's or a NaN's above.
inline constexpr int kZeroExponent = -8192;
inline constexpr int kNoNumberExponent = 12000;
inline constexpr int kLeastOfNonzero = -4096;

// The largest exponents of a step for which every product is exact in f32 or
// small enough to be cut away, and every power of two is a normal number.
inline constexpr int kLeastTop = -100;
inline constexpr int kMostTop = 125;

// Exponents of f32 that hold bf16, as i32.
template <class D, class I = hn::RebindToSigned<D>>
HWY_INLINE hn::Vec<I> FactorExponents(D df, hn::Vec<D> x) {
  const I di;
  const auto size = hn::BitCast(di, hn::Abs(x));
  const auto field = hn::ShiftRight<kF32Fraction>(size);
  const auto exponent =
      hn::Sub(hn::Max(field, hn::Set(di, 1)), hn::Set(di, kF32Bias));
  const auto number = hn::IfThenElse(hn::Eq(field, hn::Set(di, 255)),
                                     hn::Set(di, kNoNumberExponent), exponent);
  (void)df;
  return hn::IfThenElse(hn::Eq(size, hn::Zero(di)), hn::Set(di, kZeroExponent),
                        number);
}

// Of a panel. Requires: count is a multiple of the lanes.
inline void PackPanelExponents(const float* HWY_RESTRICT x, int64_t count,
                               int16_t* HWY_RESTRICT out) {
  const hn::ScalableTag<float> df;
  const hn::Rebind<int16_t, decltype(df)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  for (int64_t i = 0; i < count; i += lanes) {
    const auto e = FactorExponents(df, hn::Load(df, x + i));
    hn::StoreU(hn::DemoteTo(narrow, e), narrow, out + i);
  }
}

// Of what is broadcast: twice in a u32.
inline void PackFactorExponents(const float* HWY_RESTRICT x, size_t count,
                                uint32_t* HWY_RESTRICT out) {
  const hn::ScalableTag<float> df;
  const hn::RebindToUnsigned<decltype(df)> du;
  const auto low = hn::Set(du, 0xffffu);
  for (size_t i = 0; i < count; i += hn::Lanes(df)) {
    const auto e = hn::BitCast(du, FactorExponents(df, hn::LoadU(df, x + i)));
    hn::StoreU(hn::Or(hn::ShiftLeft<16>(e), hn::And(e, low)), du, out + i);
  }
}

// Factors that are broadcast, one every `stride`, and their exponents.
struct StepRow {
  const float* HWY_RESTRICT x;
  const uint32_t* HWY_RESTRICT exponents;
  size_t stride;
};

// Factors that are not, a row of them every `stride`.
struct StepPanel {
  const float* HWY_RESTRICT x;
  const int16_t* HWY_RESTRICT exponents;
  size_t stride;
};

// Magnitudes below 2^31 - 2^26, cut toward zero to 24 bits, as f32.
template <class D, class I = hn::RebindToSigned<D>>
HWY_INLINE hn::Vec<D> CutToF32(D df, hn::Vec<I> size) {
  const I di;
  const auto nearest = hn::ConvertTo(df, size);
  const auto bits = hn::BitCast(di, nearest);
  const auto above = hn::Gt(hn::ConvertInRangeTo(di, nearest), size);
  return hn::BitCast(
      df, hn::IfThenElse(above, hn::Sub(bits, hn::Set(di, 1)), bits));
}

// The lanes of one vector for which the arithmetic of vectors is not exact: by
// AddUnitStep. `bad`: their mask, as numbers; b at this vector.
template <class Unit, class D, class I = hn::RebindToSigned<D>>
HWY_NOINLINE hn::Vec<D> MendStep(D df, const StepRow& a, const StepPanel& b,
                                 size_t steps, hn::Vec<I> bad,
                                 hn::Vec<D> before, hn::Vec<D> after) {
  const I di;
  HWY_ALIGN float sums[hn::MaxLanes(D())];
  HWY_ALIGN float left[hn::MaxLanes(D())];
  HWY_ALIGN int32_t wrong[hn::MaxLanes(D())];
  hn::Store(before, df, sums);
  hn::Store(after, df, left);
  hn::Store(bad, di, wrong);
  for (size_t lane = 0; lane < hn::Lanes(df); ++lane) {
    if (wrong[lane] == 0) continue;
    left[lane] = AddUnitStep(
        Unit::kStep, static_cast<int64_t>(steps),
        [&](int64_t i) { return a.x[static_cast<size_t>(i) * a.stride]; },
        [&](int64_t i) {
          return b.x[static_cast<size_t>(i) * b.stride + lane];
        },
        sums[lane]);
  }
  return hn::Load(df, left);
}

struct AmpereUnit {
  static constexpr UnitStep kStep = kAmpereStep;
};
struct HopperUnit {
  static constexpr UnitStep kStep = kHopperStep;
};

// Largest exponent sum of a step, of kVectors vectors, as i16.
template <int kVectors, class D>
HWY_INLINE auto LargestExponents(D /*df*/, const StepRow& a, const StepPanel& b,
                                 size_t steps) {
  using Wide = hn::Repartition<int16_t, D>;
  using Tag = std::conditional_t<kVectors == 2, Wide, hn::Half<Wide>>;
  const Tag d;
  const hn::Repartition<uint32_t, Tag> du;
  auto largest = hn::Set(d, 2 * kZeroExponent);
  for (size_t s = 0; s < steps; ++s) {
    const auto x = hn::BitCast(d, hn::Set(du, a.exponents[s * a.stride]));
    const auto y = hn::LoadU(d, b.exponents + s * b.stride);
    largest = hn::Max(largest, hn::Add(x, y));
  }
  return largest;
}

// One vector: sums + the step's products. `products`: their largest exponent.
template <class Unit, class D, class I = hn::RebindToSigned<D>>
HWY_INLINE hn::Vec<D> StepOfVector(D df, const StepRow& a, const StepPanel& b,
                                   size_t steps, hn::Vec<I> products,
                                   hn::Vec<D> sums) {
  constexpr int kF = Unit::kStep.fraction;
  const I di;
  const auto bias = hn::Set(di, kF32Bias);
  const auto size = hn::BitCast(di, hn::Abs(sums));
  // Of a zero or a subnormal number below kLeastTop.
  const auto exponent = hn::Sub(hn::ShiftRight<kF32Fraction>(size), bias);
  const auto top = hn::Max(products, exponent);
  const auto scale = hn::BitCast(df, hn::ShiftLeft<kF32Fraction>(hn::Sub(
                                         hn::Set(di, kF32Bias + kF), top)));
  const auto unit = hn::BitCast(df, hn::ShiftLeft<kF32Fraction>(hn::Add(
                                        top, hn::Set(di, kF32Bias - kF))));
  auto total = hn::Zero(di);
  HWY_UNROLL(8)
  for (size_t s = 0; s < steps; ++s) {
    const auto product = hn::Mul(hn::Set(df, a.x[s * a.stride]),
                                 hn::Load(df, b.x + s * b.stride));
    total = hn::Add(total, hn::ConvertInRangeTo(di, hn::Mul(product, scale)));
  }
  // 16 products of F = 25 reach 2^31 - 2^24, and the accumulator is not in yet.
  const auto large = hn::Gt(hn::Abs(total), hn::Set(di, 0x78000000));
  total = hn::Add(total, hn::ConvertInRangeTo(di, hn::Mul(sums, scale)));
  const auto left = hn::CopySignToAbs(
      hn::Mul(CutToF32(df, hn::Abs(total)), unit), hn::BitCast(df, total));
  const auto outside = hn::Or(hn::Lt(top, hn::Set(di, kLeastTop)),
                              hn::Gt(top, hn::Set(di, kMostTop)));
  const auto bad = hn::Or(large, outside);
  if (HWY_LIKELY(hn::AllFalse(di, bad))) return left;
  // Products that are all zero leave the sum.
  const auto none = hn::Lt(products, hn::Set(di, kLeastOfNonzero));
  const auto kept = hn::IfThenElse(hn::RebindMask(df, none), sums, left);
  const auto mend = hn::AndNot(none, bad);
  if (hn::AllFalse(di, mend)) return kept;
  return MendStep<Unit>(df, a, b, steps, hn::VecFromMask(di, mend), sums, kept);
}

// sums [kVectors vectors] + one step's products.
template <class Unit, int kVectors, class D>
HWY_INLINE void AddStep(D df, const StepRow& a, const StepPanel& b,
                        size_t steps, float* HWY_RESTRICT sums) {
  const hn::RebindToSigned<D> di;
  const size_t lanes = hn::Lanes(df);
  const auto largest = LargestExponents<kVectors>(df, a, b, steps);
  if constexpr (kVectors == 1) {
    hn::Store(StepOfVector<Unit>(df, a, b, steps, hn::PromoteTo(di, largest),
                                 hn::Load(df, sums)),
              df, sums);
  } else {
    hn::Store(
        StepOfVector<Unit>(df, a, b, steps, hn::PromoteLowerTo(di, largest),
                           hn::Load(df, sums)),
        df, sums);
    const StepPanel second{b.x + lanes, b.exponents, b.stride};
    hn::Store(StepOfVector<Unit>(df, a, second, steps,
                                 hn::PromoteUpperTo(di, largest),
                                 hn::Load(df, sums + lanes)),
              df, sums + lanes);
  }
}

// Calls run.template operator()<Unit>() for the order's unit.
template <class F>
HWY_INLINE void WithUnit(ProductOrder order, const F& run) {
  if (order == ProductOrder::kAmpere) {
    run.template operator()<AmpereUnit>();
  } else {
    run.template operator()<HopperUnit>();
  }
}

// The steps of `count` factors of each of the block's rows: sums of row r from
// `sums` + r * sums_stride on; row(r) is its first factor. A step's part of the
// panel stays in the first cache while all rows meet it.
template <class Unit, int kVectors, class D, class Row>
HWY_INLINE void StepsOfPanel(D df, const Row& row, size_t rows,
                             const StepPanel& panel, size_t count,
                             float* HWY_RESTRICT sums, size_t sums_stride) {
  constexpr auto kLength = static_cast<size_t>(Unit::kStep.products);
  for (size_t s = 0; s < count; s += kLength) {
    const StepPanel part{panel.x + s * panel.stride,
                         panel.exponents + s * panel.stride, panel.stride};
    for (size_t r = 0; r < rows; ++r) {
      StepRow a = row(r);
      a.x += s * a.stride;
      a.exponents += s * a.stride;
      if (s + kLength <= count) {
        AddStep<Unit, kVectors>(df, a, part, kLength, sums + r * sums_stride);
      } else {
        AddStep<Unit, kVectors>(df, a, part, count - s, sums + r * sums_stride);
      }
    }
  }
}

// Scores of the block's rows -> worker.weights.
template <class D>
void StepScores(D df, const AttentionJob& job, const PackedTile& tile,
                const Block& block, Worker& worker) {
  const auto panel = static_cast<size_t>(job.geometry.panel());
  const auto stride = static_cast<size_t>(job.weight_stride);
  const auto dim = static_cast<size_t>(job.problem->head_dim);
  const size_t first = block.first_row * dim;
  const auto row = [&](size_t r) {
    return StepRow{worker.q.data() + first + r,
                   worker.q_exponents.data() + first + r, kRowBlock};
  };
  WithUnit(job.problem->order, [&]<class Unit>() HWY_ATTR {
    for (size_t key = block.begin / panel * panel; key < block.end;
         key += panel) {
      float* scores = worker.weights.data() + key;
      for (size_t r = 0; r < block.rows; ++r) {
        std::fill_n(scores + r * stride, panel, 0.0f);
      }
      const StepPanel keys{tile.k + key * dim, tile.k_exponents + key * dim,
                           panel};
      StepsOfPanel<Unit, 2>(df, row, block.rows, keys, dim, scores, stride);
    }
  });
}

// worker.acc += weights times values, panel by panel.
template <class D>
void StepValues(D df, const AttentionJob& job, const PackedTile& tile,
                const Block& block, Worker& worker) {
  const size_t lanes = hn::Lanes(df);
  const size_t panel = 2 * lanes;
  const auto values = static_cast<size_t>(job.padded_values);
  const auto stride = static_cast<size_t>(job.weight_stride);
  const auto tile_keys = static_cast<size_t>(job.plan->tile_keys);
  // Whole steps: a neighbour that no row sees has weight +0.
  const auto step = static_cast<size_t>(job.key_step());
  const size_t begin = block.begin / step * step;
  const size_t keys = (block.end + step - 1) / step * step - begin;
  for (size_t r = 0; r < block.rows; ++r) {
    const size_t at = r * stride + begin;
    PackFactorExponents(worker.weights.data() + at, keys,
                        worker.weight_exponents.data() + at);
  }
  const auto row = [&](size_t r) {
    const size_t at = r * stride + begin;
    return StepRow{worker.weights.data() + at,
                   worker.weight_exponents.data() + at, 1};
  };
  WithUnit(job.problem->order, [&]<class Unit>() HWY_ATTR {
    for (size_t c = 0; c < values; c += panel) {
      const size_t width = std::min(panel, values - c);
      const size_t from = c * tile_keys + begin * width;
      const StepPanel v{tile.v + from, tile.v_exponents + from, width};
      float* acc = worker.acc.data() + block.first_row * values + c;
      if (width == panel) {
        StepsOfPanel<Unit, 2>(df, row, block.rows, v, keys, acc, values);
      } else {
        StepsOfPanel<Unit, 1>(df, row, block.rows, v, keys, acc, values);
      }
    }
  });
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
