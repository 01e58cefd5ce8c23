// Where a head's walk back begins and ends: the cotangent of the carry behind
// its run, the gradient of the one before.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_CARRY_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_CARRY_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_CARRY_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_CARRY_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_reverse-inl.h"
#include "optimized/mamba3_reverse_output-inl.h"
#include "optimized/mamba3_reverse_work.h"
#include "optimized/mamba3_rows-inl.h"
#include "reference/contract/mamba3_scan.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {

// Zeros or the cotangent of the carry, what the head has once, empty sums.
inline void BeginReverse(const ReverseHead& head, ReverseScratch& s) {
  const Mamba3ScanProblem& p = head.p;
  const Mamba3Scratch& f = s.head;
  const Mamba3ScanInputs& in = *head.job.forward.inputs;
  const auto& carry = head.job.inputs->dcarry;
  const int64_t run = head.task.run;
  const int64_t h = head.task.head;
  std::fill_n(s.sum_memory, HeadSums::Size(f), 0.0f);
  std::fill_n(s.m, p.state_dim * f.p_pad, 0.0f);
  std::fill_n(s.mt, p.head_dim * s.row, 0.0f);
  std::fill_n(s.carry_k, f.k_stride, 0.0f);
  std::fill_n(s.carry_v, f.p_pad, 0.0f);
  std::fill_n(s.theta, f.a_stride, 0.0f);
  s.decay_behind = 1.0f;
  for (int64_t r = 0; r < p.ranks; ++r) {
    const int64_t row = r * f.p_pad;
    if (p.mimo()) LoadRow(RowAt(in.psi, h, r), p.head_dim, s.psi + row);
    if (p.mimo() && p.gate) {
      LoadRow(RowAt(in.zeta, h, r), p.head_dim, s.zeta + row);
    }
    if (p.reduce) LoadRow(RowAt(in.phi, h, r), p.head_dim, s.phi + row);
  }
  if (p.norm_epsilon) LoadRow(RowAt(in.norm_weight, h), p.head_dim, s.weight);
  if (!head.job.problem->carry_grad) return;
  if (p.angles > 0) LoadRow(RowAt(carry.theta, run, h), p.angles, s.theta);
  for (int64_t c = 0; c < p.head_dim; ++c) {
    LoadRow(RowAt(carry.h, run, h, c), p.state_dim, s.of_state);
    for (int64_t n = 0; n < p.state_dim; ++n) {
      s.m[TilePlace(c, n, p.state_dim)] = s.of_state[n];
      s.mt[TilePlace(n, c, p.head_dim)] = s.of_state[n];
    }
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    LoadRow(RowAt(carry.k, run, r, h), p.state_dim, s.carry_k + r * f.n_pad);
  }
  LoadRow(RowAt(carry.v, run, h), p.head_dim, s.carry_v);
}

// 8: the gradient of the run's initial carry.
inline void WriteCarry(const ReverseHead& head, ReverseScratch& s) {
  const Mamba3ScanProblem& p = head.p;
  const auto& carry = head.job.outputs->dcarry;
  const int64_t run = head.task.run;
  const int64_t h = head.task.head;
  if (p.angles > 0) WriteRow(s.theta, p.angles, RowAt(carry.theta, run, h));
  for (int64_t c = 0; c < p.head_dim; ++c) {
    for (int64_t n = 0; n < p.state_dim; ++n) {
      s.of_state[n] = s.decay_behind * s.mt[TilePlace(n, c, p.head_dim)];
    }
    WriteRow(s.of_state, p.state_dim, RowAt(carry.h, run, h, c));
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    WriteRow(s.carry_k + r * s.head.n_pad, p.state_dim,
             RowAt(carry.k, run, r, h));
  }
  WriteRow(s.carry_v, p.head_dim, RowAt(carry.v, run, h));
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
