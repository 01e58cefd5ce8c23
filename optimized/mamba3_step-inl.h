// Steps 4 and 5 of N15 for a run of one token, between a carry and the next.
// The state is updated in place, with its n's in lanes. Only the input of the
// read-out is transposed in registers. Through the scratch of a head every
// value would be moved four times.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_STEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_STEP_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_STEP_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_STEP_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/cache_control.h"
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
  const bool ranks = p.ranks == 1 || p.ranks == 2 || p.ranks == 4;
  return ranks && task.end - task.first == 1 && p.carry_in &&
         job.outputs->carry.given() && p.state_dim % lanes == 0 &&
         p.head_dim % lanes == 0 && job.inputs->carry.h.strides[3] == 1 &&
         job.outputs->carry.h.strides[3] == 1;
}

// A square of lanes: channels from c on, n's from n on.
template <int kRanks>
HWY_INLINE void StepSquare(const Mamba3Scratch& s, int64_t c, int64_t n,
                           hn::Vec<VectorTag> alpha, const float* from,
                           int64_t from_channel, float* to,
                           int64_t to_channel) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  V later[kRanks], now[kRanks], square[kLanes];
  for (int r = 0; r < kRanks; ++r) {
    later[r] = hn::Load(d, s.later + r * s.n_pad + n);
    now[r] = hn::Load(d, s.now + r * s.n_pad + n);
  }
  const float* HWY_RESTRICT x = s.x + c;
  for (int64_t i = 0; i < kLanes; ++i) {
    V state = hn::Mul(alpha, hn::LoadU(d, from + i * from_channel));
    for (int r = 0; r < kRanks; ++r) {
      const float* of_rank = x + r * s.p_pad + i;
      state = hn::MulAdd(later[r], hn::Set(d, of_rank[0]), state);
      state = hn::MulAdd(now[r], hn::Set(d, of_rank[s.x_stride]), state);
    }
    hn::StoreU(CanonicalNaN(d, state), d, to + i * to_channel);
    square[i] = state;
  }
  TransposeSquare(d, square);
  for (int r = 0; r < kRanks; ++r) {
    const float* HWY_RESTRICT q = s.q + r * s.n_pad + n;
    float* HWY_RESTRICT o = s.o + r * s.p_pad + c;
    V sum = hn::Load(d, o);
    for (int64_t i = 0; i < kLanes; ++i) {
      sum = hn::MulAdd(hn::Set(d, q[i]), square[i], sum);
    }
    hn::Store(sum, d, o);
  }
}

// The whole state of the task's head, and its read-out to s.o. The carries may
// be one. Rows of a state are too short for the hardware to keep them coming:
// those of the next squares are asked for.
template <int kRanks>
HWY_NOINLINE void StepSquares(const Mamba3Job& job, const Mamba3Task& task,
                              float decay, Mamba3Scratch& s) {
  const VectorTag d;
  const int64_t lanes = VectorLanes();
  const Mamba3ScanProblem& p = *job.problem;
  const StateOfCarry<const float> from(job.inputs->carry.h, task);
  const StateOfCarry<float> to(job.outputs->carry.h, task);
  const auto alpha = hn::Set(d, decay);
  std::fill_n(s.o, s.x_stride, 0.0f);
  for (int64_t c = 0; c < p.head_dim; c += lanes) {
    for (int64_t n = 0; n < p.state_dim; n += lanes) {
      for (int64_t i = 0; n % kLine == 0 && i < lanes; ++i) {
        hwy::Prefetch(&from.At(std::min(c + lanes + i, p.head_dim - 1), n));
      }
      StepSquare<kRanks>(s, c, n, alpha, &from.At(c, n), from.channel,
                         &to.At(c, n), to.channel);
    }
  }
}

inline void StepState(const Mamba3Job& job, const Mamba3Task& task, float decay,
                      Mamba3Scratch& s) {
  switch (job.problem->ranks) {
    case 1:
      return StepSquares<1>(job, task, decay, s);
    case 2:
      return StepSquares<2>(job, task, decay, s);
    default:
      return StepSquares<4>(job, task, decay, s);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
