// Step 1 of N19: from the cotangent of y back to that of o, through the sum of
// the ranks, the gate and the norm.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_OUTPUT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_OUTPUT_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_OUTPUT_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_OUTPUT_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_head-inl.h"
#include "optimized/mamba3_prepare-inl.h"
#include "optimized/mamba3_reverse_work.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/simd/elementary-inl.h"
#include "reference/contract/mamba3_scan.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A head of a run on its way back.
struct ReverseHead {
  ReverseHead(const ReverseJob& j, const Mamba3Task& task_of_head)
      : job(j),
        task(task_of_head),
        p(*j.forward.problem),
        forward(j.forward, task_of_head),
        dy(RowsOf(j.inputs->dy, 1, 2, task.row, 0, 0, task.head)),
        d_v(RowsOf(j.outputs->dv, 1, 0, task.row, 0, task.head)),
        d_z(RowsOf(j.outputs->dz, 1, 0, task.row, 0, task.head)),
        d_vartheta(RowsOf(j.outputs->dvartheta, 1, 0, task.row, 0, task.head)) {
  }

  const ReverseJob& job;
  const Mamba3Task& task;
  const Mamba3ScanProblem& p;
  HeadTensors forward;
  HeadRows dy, d_v, d_z, d_vartheta;
};

// A gradient's row, finished in place and written.
inline void WriteRow(float* HWY_RESTRICT x, int64_t count,
                     const RowOfLane& to) {
  FinishRow(to.lane, count, x);
  StoreRow(x, count, to);
}

// sums = fma(x, y, sums)
HWY_INLINE void AddTimes(hn::Vec<VectorTag> x, hn::Vec<VectorTag> y,
                         float* HWY_RESTRICT sums) {
  const VectorTag d;
  hn::Store(hn::MulAdd(x, y, hn::Load(d, sums)), d, sums);
}

// 1 for rank r: its d_o from the cotangent of y, `value` what the gate is
// given.
inline void ReverseGate(const ReverseHead& head, int64_t r,
                        const float* HWY_RESTRICT value,
                        float* HWY_RESTRICT d_o, ReverseScratch& s) {
  const VectorTag d;
  const Mamba3ScanProblem& p = head.p;
  const int64_t row = r * s.head.p_pad;
  const auto one = hn::Set(d, 1.0f);
  for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
    const auto dy = hn::Load(d, s.dy + c);
    auto y = hn::Load(d, value + c);
    auto e = p.reduce ? hn::Mul(dy, hn::Load(d, s.phi + row + c)) : dy;
    if (p.gate) {
      const auto z = hn::Load(d, s.z + c);
      const auto zeta = hn::Load(d, s.zeta + row + c);
      const auto u = p.mimo() ? hn::Mul(zeta, z) : z;
      const auto sigma = Sigmoid(d, u);
      const auto slope =
          hn::Mul(sigma, hn::MulAdd(u, hn::Sub(one, sigma), one));
      const auto d_u = hn::Mul(hn::Mul(e, y), slope);
      const auto silu = Silu(d, u);
      y = hn::Mul(y, silu);
      e = hn::Mul(e, silu);
      if (p.mimo()) {
        AddTimes(d_u, zeta, s.d_z + c);
        AddTimes(d_u, z, s.sums.zeta + row + c);
      } else {
        hn::Store(d_u, d, s.d_z + c);
      }
    }
    if (p.reduce) AddTimes(dy, y, s.sums.phi + row + c);
    hn::Store(e, d, d_o + c);
  }
}

// 1, the norm of a rank: d_o behind it, then before.
inline void ReverseNorm(const ReverseHead& head, int64_t r, float inverse,
                        float* HWY_RESTRICT d_o, ReverseScratch& s) {
  const VectorTag d;
  const Mamba3ScanProblem& p = head.p;
  const float* HWY_RESTRICT normal = s.normal + r * s.head.p_pad;
  for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
    const auto e = hn::Load(d, d_o + c);
    AddTimes(e, hn::Load(d, normal + c), s.sums.weight + c);
    hn::Store(hn::Mul(e, hn::Load(d, s.weight + c)), d, d_o + c);
  }
  Stripes products;
  products.AddProducts(d_o, normal, p.head_dim);
  const auto mean =
      hn::Set(d, products.Fold() / static_cast<float>(p.head_dim));
  const auto factor = hn::Set(d, inverse);
  for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
    const auto rest = hn::NegMulAdd(hn::Load(d, normal + c), mean,  //
                                    hn::Load(d, d_o + c));
    hn::Store(hn::Mul(factor, rest), d, d_o + c);
  }
}

// 1 for token t, `i` of the piece and `j` of its block.
inline void ReverseOutput(const ReverseHead& head, int64_t t, int64_t i,
                          int64_t j, ReverseScratch& s) {
  const VectorTag d;
  const Mamba3ScanProblem& p = head.p;
  if (p.gate) {
    LoadRow(head.forward.z.At(t), p.head_dim, s.z);
    std::fill_n(s.d_z, s.head.p_pad, 0.0f);
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    const int64_t row = r * s.head.p_pad;
    float* o = s.o + i * s.head.x_stride + row;
    float inverse = 0.0f;
    if (p.norm_epsilon) {
      inverse = InverseNorm(p, o);
      const auto factor = hn::Set(d, inverse);
      for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
        const auto normal = hn::Mul(hn::Load(d, o + c), factor);
        hn::Store(normal, d, s.normal + row + c);
        hn::Store(hn::Mul(normal, hn::Load(d, s.weight + c)), d, o + c);
      }
    }
    if (r == 0 || !p.reduce) LoadRow(head.dy.At(t, r), p.head_dim, s.dy);
    float* d_o = s.d_o + j * s.head.x_stride + row;
    ReverseGate(head, r, o, d_o, s);
    if (p.norm_epsilon) ReverseNorm(head, r, inverse, d_o, s);
  }
  if (p.gate) WriteRow(s.d_z, p.head_dim, head.d_z.At(t));
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
