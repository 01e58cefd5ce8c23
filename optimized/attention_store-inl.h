// From sums to outputs: the fold, the division, log-sum-exp, rounding and
// stores (N2, N11). Shared by the fast and the exact end of a row.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_STORE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_STORE_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_STORE_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_STORE_INL_H_
#endif

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "optimized/attention_weights-inl.h"
#include "optimized/attention_work.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/lanes-inl.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Weight() of one score; u = -inf weighs +0.
template <class D1>
HWY_INLINE float ScalarWeight(D1 d1, float u, float m, float shift) {
  if (u == -std::numeric_limits<float>::infinity()) return 0.0f;
  return hn::GetLane(
      Weight(d1, hn::Set(d1, u), hn::Set(d1, m), hn::Set(d1, shift)));
}

// N11: the fixed fold of the sixteen stripes; overwrites them.
inline float FoldStripes(float* stripes) {
  for (int w = kStripes / 2; w >= 1; w /= 2) {
    for (int r = 0; r < w; ++r) stripes[r] += stripes[r + w];
  }
  return stripes[0];
}

// N11: ln(l * 2^(m - shift)); -inf for l = 0.
template <class D1>
HWY_INLINE float LogSumExp(D1 d1, float l, float m, float shift) {
  if (l == 0.0f) return -std::numeric_limits<float>::infinity();
  const float unshift = shift == 0.0f ? 1.0f : 0x1p-64f;
  const auto split = SplitForLog2(d1, hn::Set(d1, l * unshift));
  const auto log2 =
      hn::Add(hn::Add(hn::Set(d1, m), split.k), Log2Core(d1, split.z));
  const auto lse = hn::Mul(log2, hn::Set(d1, static_cast<float>(kLn2)));
  return hn::GetLane(hn::Add(lse, hn::Zero(d1)));
}

// N2, N11: rounded to the output lane, never -0, NaN canonical.
template <class D>
HWY_INLINE hn::Vec<D> FinishOutput(D df, const AttentionJob& job,
                                   hn::Vec<D> o) {
  o = RoundToLane(df, job.problem->lane, o);
  const auto nan =
      hn::BitCast(df, hn::Set(hn::RebindToUnsigned<D>(), kCanonicalNaNBits));
  return hn::IfThenElse(hn::IsNaN(o), nan, hn::Add(o, hn::Zero(df)));
}

// acc [padded_values] -> finished outputs.
template <class D>
HWY_INLINE void Normalise(D df, const AttentionJob& job, int64_t batch,
                          const RowState& row, float l,
                          float* HWY_RESTRICT acc) {
  const auto vl = hn::Set(df, l);
  const auto scale =
      hn::Set(df, job.OutputScale(batch, row.head / job.problem->group()));
  for (size_t c = 0; c < static_cast<size_t>(job.padded_values);
       c += hn::Lanes(df)) {
    const auto o = hn::Div(hn::Load(df, acc + c), vl);
    hn::Store(FinishOutput(df, job, hn::Mul(o, scale)), df, acc + c);
  }
}

// Writes one output row; o holds values of the output lane.
inline void StoreRow(const AttentionJob& job, int64_t batch,
                     const RowState& row, const float* o, float lse) {
  const AttentionForwardOutputs& out = *job.outputs;
  out.lse(batch, row.head, row.place) = lse;
  WithLane(out.o.lane, [&](auto element) HWY_ATTR {
    const auto view = out.o.As<decltype(element)>();
    StoreRounded(o, job.problem->value_dim, view.strides[3],
                 &view(batch, row.head, row.place, 0));
  });
}

// Writes the state of a row; NaN is canonical, and m is never -0. acc is
// [value_dim].
inline void StoreState(const AttentionJob& job, int64_t batch,
                       const RowState& row, float m, float l,
                       const float* acc) {
  const AttentionStates& to = job.states->to;
  const auto canonical = [](float x) {
    return std::isnan(x) ? std::bit_cast<float>(kCanonicalNaNBits) : x;
  };
  to.m(batch, row.head, row.query) = canonical(m) + 0.0f;
  to.l(batch, row.head, row.query) = canonical(l);
  for (int64_t c = 0; c < job.problem->value_dim; ++c) {
    to.acc(batch, row.head, row.query, c) = canonical(acc[c]);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
