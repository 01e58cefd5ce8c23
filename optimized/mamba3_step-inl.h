// Steps 4 and 5 of N15 for a run of one token, between a carry and the next:
// the state is updated where it lies, with its n's in lanes, and only what the
// read-out takes changes its order in registers. Through the scratch of a head
// every value would be moved four times (docs/benchmarking.md).
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_STEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_STEP_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_STEP_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_STEP_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_carry-inl.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/mamba3_work.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/transpose-inl.h"
#include "reference/contract/mamba3_scan.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether the run is one token between two carries whose states are whole
// squares of vectors, n's side by side.
inline bool StepsInPlace(const Mamba3Job& job, const Mamba3Task& task) {
  const Mamba3ScanProblem& p = *job.problem;
  const int64_t lanes = VectorLanes();
  return kHasSquares && task.end - task.first == 1 && p.carry_in &&
         job.outputs->carry.given() && p.state_dim % lanes == 0 &&
         p.head_dim % lanes == 0 && job.inputs->carry.h.strides[3] == 1 &&
         job.outputs->carry.h.strides[3] == 1;
}

// Channel c's n's from n on, after the token: 4 of N15.
template <class V>
HWY_INLINE V NextState(const Mamba3Scratch& s, int64_t ranks, int64_t c,
                       int64_t n, V alpha, V before) {
  const VectorTag d;
  V state = hn::Mul(alpha, before);
  for (int64_t r = 0; r < ranks; ++r) {
    const float* x = s.x + r * s.p_pad + c;
    state = hn::MulAdd(hn::Load(d, s.later + r * s.n_pad + n), hn::Set(d, *x),
                       state);
    state = hn::MulAdd(hn::Load(d, s.now + r * s.n_pad + n),
                       hn::Set(d, x[s.x_stride]), state);
  }
  return state;
}

// The whole state of the task's head, and its read-out to s.o. The carries may
// be one.
inline void StepState(const Mamba3Job& job, const Mamba3Task& task, float decay,
                      Mamba3Scratch& s) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const Mamba3ScanProblem& p = *job.problem;
  const StateOfCarry<const float> from(job.inputs->carry.h, task);
  const StateOfCarry<float> to(job.outputs->carry.h, task);
  const V alpha = hn::Set(d, decay);
  std::fill_n(s.o, s.x_stride, 0.0f);
  for (int64_t c = 0; c < p.head_dim; c += kLanes) {
    for (int64_t n = 0; n < p.state_dim; n += kLanes) {
      V square[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        square[i] = NextState(s, p.ranks, c + i, n, alpha,
                              hn::LoadU(d, &from.At(c + i, n)));
        hn::StoreU(CanonicalNaN(d, square[i]), d, &to.At(c + i, n));
      }
      TransposeSquare(d, square);
      for (int64_t r = 0; r < p.ranks; ++r) {
        const float* q = s.q + r * s.n_pad + n;
        float* o = s.o + r * s.p_pad + c;
        V sum = hn::Load(d, o);
        for (int64_t i = 0; i < kLanes; ++i) {
          sum = hn::MulAdd(hn::Set(d, q[i]), square[i], sum);
        }
        hn::Store(sum, d, o);
      }
    }
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
