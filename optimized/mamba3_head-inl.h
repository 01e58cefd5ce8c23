// The rest of a head: output stage (6), carries, and the walk over its tokens.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_HEAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_HEAD_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_HEAD_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_HEAD_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/mamba3_scan-inl.h"
#include "optimized/mamba3_work.h"
#include "optimized/simd/elementary-inl.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 5: the skip, D x.
inline void AddSkip(const Mamba3Job& job, int64_t head, const float* x,
                    int64_t count, float* HWY_RESTRICT o) {
  const VectorTag d;
  const auto skip = hn::Set(d, job.inputs->d(head));
  for (int64_t i = 0; i < count; i += VectorLanes()) {
    const auto sum = hn::MulAdd(skip, hn::Load(d, x + i), hn::Load(d, o + i));
    hn::Store(sum, d, o + i);
  }
}

// 6: channel c is in stripe c mod 16, whatever the number of lanes.
inline void Normalise(const Mamba3Job& job, int64_t head, Mamba3Scratch& s,
                      float* HWY_RESTRICT o) {
  const VectorTag d;
  const Mamba3ScanProblem& p = *job.problem;
  alignas(64) float l[kStripes] = {};
  for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
    const auto inside = hn::FirstN(d, static_cast<size_t>(p.head_dim - c));
    const auto value = hn::IfThenElseZero(inside, hn::Load(d, o + c));
    float* stripes = l + c % kStripes;
    hn::Store(hn::MulAdd(value, value, hn::Load(d, stripes)), d, stripes);
  }
  for (int w = kStripes / 2; w >= 1; w /= 2) {
    for (int r = 0; r < w; ++r) l[r] += l[r + w];
  }
  const float mean = l[0] / static_cast<float>(p.head_dim);
  const auto epsilon = static_cast<float>(*p.norm_epsilon);
  const auto inverse = hn::Set(d, 1.0f / std::sqrt(mean + epsilon));
  LoadRow(RowAt(job.inputs->norm_weight, head), p.head_dim, s.y);
  for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
    const auto value = hn::Mul(hn::Load(d, o + c), inverse);
    hn::Store(hn::Mul(value, hn::Load(d, s.y + c)), d, o + c);
  }
}

// 6: in place.
inline void Gate(const Mamba3Job& job, const Mamba3Task& task, int64_t rank,
                 Mamba3Scratch& s, float* HWY_RESTRICT o) {
  const VectorTag d;
  const Mamba3ScanProblem& p = *job.problem;
  if (p.mimo()) {
    LoadRow(RowAt(job.inputs->zeta, task.head, rank), p.head_dim, s.y);
  }
  for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
    auto z = hn::Load(d, s.z + c);
    if (p.mimo()) z = hn::Mul(hn::Load(d, s.y + c), z);
    hn::Store(hn::Mul(hn::Load(d, o + c), Silu(d, z)), d, o + c);
  }
}

// `rows` [r, p_pad] is the token's read-out.
inline void WriteToken(const Mamba3Job& job, const Mamba3Task& task, int64_t t,
                       float* rows, Mamba3Scratch& s) {
  const VectorTag d;
  const Mamba3ScanProblem& p = *job.problem;
  const auto& y = job.outputs->y;
  if (p.gate) {
    LoadRow(RowAt(job.inputs->z, task.row, t, task.head), p.head_dim, s.z);
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    float* o = rows + r * s.p_pad;
    if (p.norm_epsilon) Normalise(job, task.head, s, o);
    if (p.gate) Gate(job, task, r, s, o);
    if (p.reduce) continue;
    FinishRow(p.lane, p.head_dim, o);
    StoreRow(o, p.head_dim, y, task.row, t, r, task.head);
  }
  if (!p.reduce) return;
  std::fill_n(s.y, s.p_pad, 0.0f);
  for (int64_t r = 0; r < p.ranks; ++r) {
    LoadRow(RowAt(job.inputs->phi, task.head, r), p.head_dim, s.z);
    for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
      const auto o = hn::Load(d, rows + r * s.p_pad + c);
      const auto sum = hn::Load(d, s.y + c);
      hn::Store(hn::MulAdd(hn::Load(d, s.z + c), o, sum), d, s.y + c);
    }
  }
  FinishRow(p.lane, p.head_dim, s.y);
  StoreRow(s.y, p.head_dim, y, task.row, t, 0, task.head);
}

// Where channel c of the state begins, its n's a tile's width apart.
inline float* Channel(const Mamba3Scratch& s, const Mamba3ScanProblem& p,
                      int64_t c) {
  const int64_t width = TileWidth();
  return s.h + c / width * width * p.state_dim + c % width;
}

inline void LoadCarry(const Mamba3Job& job, const Mamba3Task& task,
                      Mamba3Scratch& s) {
  const Mamba3ScanProblem& p = *job.problem;
  const auto& carry = job.inputs->carry;
  if (p.angles > 0) {
    LoadRow(RowAt(carry.theta, task.run, task.head), p.angles, s.theta);
  }
  for (int64_t c = 0; c < p.head_dim; ++c) {
    float* h = Channel(s, p, c);
    for (int64_t n = 0; n < p.state_dim; ++n) {
      h[n * TileWidth()] = carry.h(task.run, task.head, c, n);
    }
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    LoadRow(RowAt(carry.k, task.run, r, task.head), p.state_dim,
            s.k + r * s.n_pad);
  }
  LoadRow(RowAt(carry.v, task.run, task.head), p.head_dim, s.v);
  UpProject(job, task.head, s, s.x);
}

// Bits of x, or of the canonical NaN.
inline float Exported(float x) {
  return x == x ? x : std::bit_cast<float>(kCanonicalNaNBits);
}

inline void StoreCarry(const Mamba3Job& job, const Mamba3Task& task,
                       const Mamba3Scratch& s) {
  const Mamba3ScanProblem& p = *job.problem;
  const auto& carry = job.outputs->carry;
  for (int64_t i = 0; i < p.angles; ++i) {
    carry.theta(task.run, task.head, i) = Exported(s.theta[i]);
  }
  for (int64_t c = 0; c < p.head_dim; ++c) {
    const float* h = Channel(s, p, c);
    for (int64_t n = 0; n < p.state_dim; ++n) {
      carry.h(task.run, task.head, c, n) = Exported(h[n * TileWidth()]);
    }
    carry.v(task.run, task.head, c) = Exported(s.v[c]);
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    for (int64_t n = 0; n < p.state_dim; ++n) {
      carry.k(task.run, r, task.head, n) = Exported(s.k[r * s.n_pad + n]);
    }
  }
}

// 2, 3 and the factors of 4 for token t, which is `i` of its block and `weight`
// of the weights.
inline void PrepareToken(const Mamba3Job& job, const Mamba3Task& task,
                         int64_t t, int64_t i, int64_t weight,
                         Mamba3Scratch& s) {
  const Mamba3ScanProblem& p = *job.problem;
  const Mamba3ScanInputs& in = *job.inputs;
  const int64_t group = task.head / p.group();
  AdvanceAngles(job, task, t, s.dt[weight], s);
  LoadRow(RowAt(in.v, task.row, t, task.head), p.head_dim, s.v);
  UpProject(job, task.head, s, s.x + (i + 1) * s.x_stride);
  for (int64_t r = 0; r < p.ranks; ++r) {
    const int64_t row = i * s.k_stride + r * s.n_pad;
    float* k_previous = s.k + row;
    float* k = k_previous + s.k_stride;
    LoadRotated(p, RowAt(in.q, task.row, t, r, group), s.bq + r * s.n_pad, s,
                s.q + row);
    LoadRotated(p, RowAt(in.k, task.row, t, r, group), s.bk + r * s.n_pad, s,
                k);
    if (t + kTokenBlock < task.end) {
      const int64_t then = t + kTokenBlock;
      PrefetchRow(RowAt(in.q, task.row, then, r, group), p.state_dim);
      PrefetchRow(RowAt(in.k, task.row, then, r, group), p.state_dim);
    }
    Scale(s.gamma[weight], k, p.state_dim, s.now + row);
    Scale(s.beta[weight], k_previous, p.state_dim, s.later + row);
  }
}

// Tokens t .. t + count - 1, at most kTokenBlock.
inline void AdvanceBlock(const Mamba3Job& job, const Mamba3Task& task,
                         int64_t t, int64_t count, int64_t weight,
                         Mamba3Scratch& s) {
  const Mamba3ScanProblem& p = *job.problem;
  for (int64_t i = 0; i < count; ++i) {
    PrepareToken(job, task, t + i, i, weight + i, s);
  }
  AdvanceState(p, count, s.alpha + weight, s);
  for (int64_t i = 0; i < count; ++i) {
    float* o = s.o + i * s.x_stride;
    if (p.skip) {
      AddSkip(job, task.head, s.x + (i + 1) * s.x_stride, s.x_stride, o);
    }
    WriteToken(job, task, t + i, o, s);
  }
  std::copy_n(s.k + count * s.k_stride, s.k_stride, s.k);
  std::copy_n(s.x + count * s.x_stride, s.x_stride, s.x);
}

inline void RunHead(const Mamba3Job& job, const Mamba3Task& task,
                    Mamba3Scratch& s) {
  const Mamba3ScanProblem& p = *job.problem;
  std::fill_n(s.h, p.state_dim * s.p_pad, 0.0f);
  std::fill_n(s.theta, p.angles, 0.0f);
  std::fill_n(s.k, s.k_stride, 0.0f);
  std::fill_n(s.x, s.x_stride, 0.0f);
  std::fill_n(s.v, s.p_pad, 0.0f);
  for (int64_t r = 0; p.bias && r < p.ranks; ++r) {
    LoadRow(RowAt(job.inputs->bq, task.head, r), p.state_dim,
            s.bq + r * s.n_pad);
    LoadRow(RowAt(job.inputs->bk, task.head, r), p.state_dim,
            s.bk + r * s.n_pad);
  }
  if (p.carry_in) LoadCarry(job, task, s);
  for (int64_t t = task.first; t < task.end; t += kWeightBlock) {
    const int64_t weights = std::min(kWeightBlock, task.end - t);
    WeighTokens(job, task, t, weights, s);
    for (int64_t i = 0; i < weights; i += kTokenBlock) {
      AdvanceBlock(job, task, t + i, std::min(kTokenBlock, weights - i), i, s);
    }
  }
  if (job.outputs->carry.given()) StoreCarry(job, task, s);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
