// The rest of a head: output stage (6) and the walk over its tokens.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_HEAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_HEAD_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_HEAD_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_HEAD_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_carry-inl.h"
#include "optimized/mamba3_prepare-inl.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/mamba3_scan-inl.h"
#include "optimized/mamba3_step-inl.h"
#include "optimized/mamba3_work.h"
#include "optimized/simd/elementary-inl.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 5: the skip, D x. `x` and `o` are a token's, of all ranks.
inline void AddSkip(float skip, const float* HWY_RESTRICT x, int64_t count,
                    float* HWY_RESTRICT o) {
  const VectorTag d;
  const auto factor = hn::Set(d, skip);
  for (int64_t i = 0; i < count; i += VectorLanes()) {
    const auto sum = hn::MulAdd(factor, hn::Load(d, x + i), hn::Load(d, o + i));
    hn::Store(sum, d, o + i);
  }
}

// 6: 1 / sqrt(mean o^2 + epsilon).
inline float InverseNorm(const Mamba3ScanProblem& p,
                         const float* HWY_RESTRICT o) {
  Stripes squares;
  squares.AddProducts(o, o, p.head_dim);
  const float mean = squares.Fold() / static_cast<float>(p.head_dim);
  const auto epsilon = static_cast<float>(*p.norm_epsilon);
  return 1.0f / std::sqrt(mean + epsilon);
}

// 6: in place.
inline void Normalise(const Mamba3Job& job, int64_t head, Mamba3Scratch& s,
                      float* HWY_RESTRICT o) {
  const VectorTag d;
  const Mamba3ScanProblem& p = *job.problem;
  const auto inverse = hn::Set(d, InverseNorm(p, o));
  LoadRow(RowAt(job.inputs->norm_weight, head), p.head_dim, s.y);
  for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
    const auto value = hn::Mul(hn::Load(d, o + c), inverse);
    hn::Store(hn::Mul(value, hn::Load(d, s.y + c)), d, o + c);
  }
}

// 6: in place.
inline void Gate(const Mamba3Job& job, int64_t head, int64_t rank,
                 Mamba3Scratch& s, float* HWY_RESTRICT o) {
  const VectorTag d;
  const Mamba3ScanProblem& p = *job.problem;
  if (p.mimo()) {
    LoadRow(RowAt(job.inputs->zeta, head, rank), p.head_dim, s.y);
  }
  for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
    auto z = hn::Load(d, s.z + c);
    if (p.mimo()) z = hn::Mul(hn::Load(d, s.y + c), z);
    hn::Store(hn::Mul(hn::Load(d, o + c), Silu(d, z)), d, o + c);
  }
}

// 5's end and N11 for a token with neither norm, gate nor sum: one pass.
inline void WritePlain(const Mamba3Job& job, int64_t head, const HeadRows& y,
                       int64_t t, const float* HWY_RESTRICT x,
                       float* HWY_RESTRICT o, const Mamba3Scratch& s) {
  const VectorTag d;
  const Mamba3ScanProblem& p = *job.problem;
  const bool skips = p.skip;
  const auto skip = hn::Set(d, skips ? job.inputs->d(head) : 0.0f);
  for (int64_t r = 0; r < p.ranks; ++r, x += s.p_pad, o += s.p_pad) {
    const RowOfLane to = y.At(t, r);
    const bool in_place = InPlace(to, p.head_dim);
    float* HWY_RESTRICT out = in_place ? static_cast<float*>(to.data) : o;
    for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
      auto value = hn::Load(d, o + c);
      if (skips) value = hn::MulAdd(skip, hn::Load(d, x + c), value);
      value = RoundToLane(d, p.lane, value);
      hn::StoreU(CanonicalNaN(d, hn::Add(value, hn::Zero(d))), d, out + c);
    }
    if (!in_place) StoreRow(o, p.head_dim, to);
  }
}

// 5's end and 6: `o` [r, p_pad] is the token's read-out, x what it skips to.
inline void WriteToken(const Mamba3Job& job, int64_t head,
                       const HeadTensors& rows, int64_t t, const float* x,
                       float* o, Mamba3Scratch& s) {
  const VectorTag d;
  const Mamba3ScanProblem& p = *job.problem;
  if (!p.norm_epsilon && !p.gate && !p.reduce) {
    return WritePlain(job, head, rows.y, t, x, o, s);
  }
  if (p.skip) AddSkip(job.inputs->d(head), x, s.x_stride, o);
  if (p.gate) LoadRow(rows.z.At(t), p.head_dim, s.z);
  for (int64_t r = 0; r < p.ranks; ++r) {
    float* of_rank = o + r * s.p_pad;
    if (p.norm_epsilon) Normalise(job, head, s, of_rank);
    if (p.gate) Gate(job, head, r, s, of_rank);
    if (p.reduce) continue;
    FinishRow(p.lane, p.head_dim, of_rank);
    StoreRow(of_rank, p.head_dim, rows.y.At(t, r));
  }
  if (!p.reduce) return;
  std::fill_n(s.y, s.p_pad, 0.0f);
  for (int64_t r = 0; r < p.ranks; ++r) {
    LoadRow(RowAt(job.inputs->phi, head, r), p.head_dim, s.z);
    for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
      const auto value = hn::Load(d, o + r * s.p_pad + c);
      const auto sum = hn::Load(d, s.y + c);
      hn::Store(hn::MulAdd(hn::Load(d, s.z + c), value, sum), d, s.y + c);
    }
  }
  FinishRow(p.lane, p.head_dim, s.y);
  StoreRow(s.y, p.head_dim, rows.y.At(t));
}

// Where the rotated vectors of a token go. A struct of values: what a lambda
// borrows the compiler loads again after every store.
struct FactorSink {
  float* q;
  float* now;
  float* kept;
  hn::Vec<VectorTag> gamma;
  hn::Vec<VectorTag> factor;

  HWY_INLINE void operator()(int64_t n, hn::Vec<VectorTag> q_row,
                             hn::Vec<VectorTag> k_row) const {
    const VectorTag d;
    hn::StoreU(q_row, d, q + n);
    hn::StoreU(hn::Mul(gamma, k_row), d, now + n);
    hn::StoreU(hn::Mul(factor, k_row), d, kept + n);
  }
};

// 3 and the factors of 4 for token t, which is `i` of `count` in its block and
// `weight` of the weights. The next token's beta k is made here too, from
// registers; the last token leaves k itself to the next block.
inline void PrepareToken(const Mamba3Job& job, int64_t head,
                         const HeadTensors& rows, int64_t t, int64_t i,
                         int64_t count, int64_t weight, Mamba3Scratch& s) {
  const VectorTag d;
  const Mamba3ScanProblem& p = *job.problem;
  const bool last = i + 1 == count;
  const auto gamma = hn::Set(d, s.gamma[weight]);
  const auto factor = hn::Set(d, last ? 1.0f : s.beta[weight + 1]);
  LoadChannels(job, head, rows.v.At(t), s, s.x + (i + 1) * s.x_stride);
  if (!p.mimo()) {
    const int64_t at = i * s.a_stride;
    SpreadTurns(p.angles, s.sine + at, s.cosine + at, s);
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    const int64_t row = i * s.k_stride + r * s.n_pad;
    float* kept = last ? s.k + r * s.n_pad : s.later + row + s.k_stride;
    RotateRank(p, rows, t, i, r, s,
               FactorSink{s.q + row, s.now + row, kept, gamma, factor});
  }
}

// Tokens t .. t + count - 1, at most kTokenBlock. `in_place`: as StepsInPlace.
inline void AdvanceBlock(const Mamba3Job& job, const Mamba3Task& task,
                         const HeadTensors& rows, int64_t t, int64_t count,
                         int64_t weight, bool in_place, Mamba3Scratch& s) {
  const Mamba3ScanProblem& p = *job.problem;
  AdvanceAngles(rows.vartheta, p.angles, t, count, s.dt + weight, s);
  for (int64_t r = 0; r < p.ranks; ++r) {
    Scale(s.beta[weight], s.k + r * s.n_pad, p.state_dim,
          s.later + r * s.n_pad);
  }
  for (int64_t i = 0; i < count; ++i) {
    PrepareToken(job, task.head, rows, t + i, i, count, weight + i, s);
  }
  if (in_place) {
    StepState(job, task, s.alpha[weight], s);
  } else {
    AdvanceState(p, count, s.alpha + weight, s, [&](int64_t i) {
      PrefetchRow(rows.y.At(t + i), p.head_dim);
      if (t + i + kTokenBlock < task.end) {
        PrefetchInputs(p, rows, t + i + kTokenBlock);
      }
    });
  }
  for (int64_t i = 0; i < count; ++i) {
    WriteToken(job, task.head, rows, t + i, s.x + (i + 1) * s.x_stride,
               s.o + i * s.x_stride, s);
  }
  std::copy_n(s.x + count * s.x_stride, s.x_stride, s.x);
}

// Zeros or the carry, and the biases. A state that stays in place is not read.
inline void BeginHead(const Mamba3Job& job, const Mamba3Task& task,
                      Mamba3Scratch& s, bool in_place = false) {
  const Mamba3ScanProblem& p = *job.problem;
  if (!in_place) std::fill_n(s.h, p.state_dim * s.p_pad, 0.0f);
  std::fill_n(s.theta, p.angles, 0.0f);
  std::fill_n(s.k, s.k_stride, 0.0f);
  std::fill_n(s.x, s.x_stride, 0.0f);
  std::fill_n(s.v, s.p_pad, 0.0f);
  if (!p.bias) {
    std::fill_n(s.bq, s.k_stride, -0.0f);
    std::fill_n(s.bk, s.k_stride, -0.0f);
  }
  for (int64_t r = 0; p.bias && r < p.ranks; ++r) {
    LoadRow(RowAt(job.inputs->bq, task.head, r), p.state_dim,
            s.bq + r * s.n_pad);
    LoadRow(RowAt(job.inputs->bk, task.head, r), p.state_dim,
            s.bk + r * s.n_pad);
  }
  if (!p.carry_in) return;
  LoadCarriedRows(job, task, s);
  if (!in_place) LoadState(job, task, s);
}

inline void RunHead(const Mamba3Job& job, const Mamba3Task& task,
                    Mamba3Scratch& s) {
  const HeadTensors rows(job, task);
  const bool in_place = StepsInPlace(job, task);
  BeginHead(job, task, s, in_place);
  for (int64_t t = task.first; t < task.end; t += kWeightBlock) {
    const int64_t weights = std::min(kWeightBlock, task.end - t);
    WeighTokens(job, task, t, weights, s);
    for (int64_t i = 0; i < weights; i += kTokenBlock) {
      const int64_t count = std::min(kTokenBlock, weights - i);
      AdvanceBlock(job, task, rows, t + i, count, i, in_place, s);
    }
  }
  if (in_place) {
    StoreCarriedRows(job, task, s);
  } else if (job.outputs->carry.given()) {
    StoreCarry(job, task, s);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
