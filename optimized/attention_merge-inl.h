// One row of a merge: the weights of its parts, side by side, then the chain of
// every channel over the parts (N23).
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_MERGE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_MERGE_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_MERGE_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_MERGE_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "optimized/attention_merge_work.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/simd/elementary-inl.h"
#include "reference/contract/attention_merge.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What the lse of a row's parts say before any weight is formed.
struct SeenParts {
  int64_t count = 0;  // parts that saw a key; their numbers are in the scratch
  float max = -std::numeric_limits<float>::infinity();
  bool nan = false;
};

inline SeenParts CollectParts(const MergeJob& job, int64_t head, int64_t row,
                              MergeScratch& scratch) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const TensorView<const float, 3>& lse = job.inputs->lse;
  const float* from = &lse(0, head, row);
  SeenParts seen;
  for (int64_t s = 0; s < job.problem->parts; ++s) {
    const float value = from[s * lse.strides[0]];
    if (value == -kInfinity) continue;
    seen.nan = seen.nan || !(value < kInfinity);
    if (value > seen.max) seen.max = value;
    const auto n = static_cast<size_t>(seen.count++);
    scratch.weights[n] = value;
    scratch.numbers[n] = s;
  }
  return seen;
}

// lse -> base^(lse - max), in place. Returns their sum, in one chain.
inline float FormWeights(LseBase base, const SeenParts& seen,
                         float* HWY_RESTRICT weights) {
  const VectorTag d;
  const auto max = hn::Set(d, seen.max);
  const auto log2e = hn::Set(d, static_cast<float>(kLog2E));
  for (int64_t n = 0; n < seen.count; n += VectorLanes()) {
    auto x = hn::Sub(hn::Load(d, weights + n), max);
    if (base == LseBase::kE) x = hn::Mul(x, log2e);
    hn::Store(Exp2(d, x), d, weights + n);
  }
  float sum = 0.0f;
  for (int64_t n = 0; n < seen.count; ++n) sum = sum + weights[n];
  return sum;
}

inline float MergedLse(LseBase base, float max, float sum) {
  const hn::CappedTag<float, 1> d1;
  auto log = Log2(d1, hn::Set(d1, sum));
  if (base == LseBase::kE) {
    log = hn::Mul(log, hn::Set(d1, static_cast<float>(kLn2)));
  }
  const auto lse = hn::Add(hn::Set(d1, max), log);
  return hn::GetLane(hn::Add(lse, hn::Zero(d1)));
}

// acc_c = fma(weight, o_c, acc_c); all rows are padded to whole vectors.
inline void AddPart(float weight, const float* HWY_RESTRICT o, int64_t count,
                    float* HWY_RESTRICT acc) {
  const VectorTag d;
  const auto w = hn::Set(d, weight);
  for (int64_t c = 0; c < count; c += VectorLanes()) {
    hn::Store(hn::MulAdd(w, hn::LoadU(d, o + c), hn::Load(d, acc + c)), d,
              acc + c);
  }
}

inline void MergeRow(const MergeJob& job, int64_t head, int64_t row,
                     MergeScratch& scratch) {
  const AttentionMergeProblem& p = *job.problem;
  const VectorTag d;
  const int64_t count = p.value_dim;
  float* acc = scratch.acc.data();
  std::fill_n(acc, count, 0.0f);
  const SeenParts seen = CollectParts(job, head, row, scratch);
  float lse = seen.max;
  if (seen.nan) {
    lse = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(acc, count, lse);
  } else if (seen.count > 0) {
    const float sum = FormWeights(p.base, seen, scratch.weights.data());
    for (int64_t n = 0; n < seen.count; ++n) {
      const auto at = static_cast<size_t>(n);
      const RowOfLane o = RowAt(job.inputs->o, scratch.numbers[at], head, row);
      AddPart(scratch.weights[at], RowInPlace(o, count, scratch.row.data()),
              count, acc);
    }
    const auto divisor = hn::Set(d, sum);
    for (int64_t c = 0; c < count; c += VectorLanes()) {
      hn::Store(hn::Div(hn::Load(d, acc + c), divisor), d, acc + c);
    }
    lse = MergedLse(p.base, seen.max, sum);
  }
  FinishRow(p.out_lane, count, acc);
  StoreRow(acc, count, RowAt(job.outputs->o, head, row));
  job.outputs->lse(head, row) = lse;
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
