// The rest of N19 for a head of a run: what is made of M's products, and the
// walk from the last token to the first.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_BACKWARD_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_BACKWARD_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_BACKWARD_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_BACKWARD_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_head-inl.h"
#include "optimized/mamba3_piece-inl.h"
#include "optimized/mamba3_reverse-inl.h"
#include "optimized/mamba3_reverse_carry-inl.h"
#include "optimized/mamba3_reverse_output-inl.h"
#include "optimized/mamba3_reverse_work.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/simd/elementary-inl.h"
#include "reference/contract/coefficients.h"
#include "reference/contract/mamba3_scan.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 4: x, and what it is made of.
inline void ReverseChannels(const ReverseHead& head, int64_t t, int64_t i,
                            int64_t j, ReverseScratch& s) {
  const VectorTag d;
  const Mamba3ScanProblem& p = head.p;
  const Mamba3Scratch& f = s.head;
  const auto gamma = hn::Set(d, s.gamma[i]);
  const auto beta = hn::Set(d, s.beta[i]);
  const auto skip =
      hn::Set(d, p.skip ? head.job.forward.inputs->d(head.task.head) : 0.0f);
  const float* v_before = s.v + i * f.p_pad;
  const float* d_o_rows = s.d_o + j * f.x_stride;
  const float* of_x = s.of_x + j * f.x_stride;
  const float* of_x_before = s.of_x_before + j * f.x_stride;
  const float* x_rows = s.x_rows + (i + 1) * f.x_stride;
  for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
    auto d_v = hn::Zero(d);
    auto d_v_before = hn::Zero(d);
    for (int64_t r = 0; r < p.ranks; ++r) {
      const int64_t at = r * f.p_pad + c;
      auto d_x = hn::Mul(gamma, hn::Load(d, of_x + at));
      const auto d_x_before = hn::Mul(beta, hn::Load(d, of_x_before + at));
      if (p.skip) {
        const auto d_o = hn::Load(d, d_o_rows + at);
        d_x = hn::MulAdd(skip, d_o, d_x);
        AddTimes(d_o, hn::Load(d, x_rows + at), s.sums.d + c);
      }
      if (p.mimo()) {
        const auto psi = hn::Load(d, s.psi + at);
        d_v = hn::MulAdd(psi, d_x, d_v);
        d_v_before = hn::MulAdd(psi, d_x_before, d_v_before);
        AddTimes(d_x, hn::Load(d, v_before + f.p_pad + c), s.sums.psi + at);
        AddTimes(d_x_before, hn::Load(d, v_before + c), s.sums.psi + at);
      } else {
        d_v = d_x;
        d_v_before = d_x_before;
      }
    }
    hn::Store(hn::Add(d_v, hn::Load(d, s.carry_v + c)), d, s.d_v + c);
    hn::Store(d_v_before, d, s.carry_v + c);
  }
  WriteRow(s.d_v, p.head_dim, head.d_v.At(t));
}

// 4: the rotated k.
inline void ReverseKeys(const Mamba3ScanProblem& p, int64_t i, int64_t j,
                        ReverseScratch& s) {
  const VectorTag d;
  const auto gamma = hn::Set(d, s.gamma[i]);
  const auto beta = hn::Set(d, s.beta[i]);
  for (int64_t r = 0; r < p.ranks; ++r) {
    for (int64_t n = 0; n < p.state_dim; n += VectorLanes()) {
      const int64_t at = r * s.head.n_pad + n;
      float* carry = s.carry_k + at;
      const int64_t from = j * s.head.k_stride + at;
      const auto own = hn::Mul(gamma, hn::Load(d, s.of_k + from));
      hn::Store(hn::Add(own, hn::Load(d, carry)), d, s.d_k + at);
      hn::Store(hn::Mul(beta, hn::Load(d, s.of_k_before + from)), d, carry);
    }
  }
}

// 5
inline void ReverseScalars(const Mamba3ScanProblem& p, int64_t i, int64_t j,
                           ReverseScratch& s) {
  const Mamba3Scratch& f = s.head;
  const float* x_before = s.x_rows + i * f.x_stride;
  const float* x = x_before + f.x_stride;
  Stripes of_now, of_before, of_state;
  for (int64_t r = 0; r < p.ranks; ++r) {
    const int64_t row = r * f.p_pad;
    const int64_t from = j * f.x_stride + row;
    of_now.AddProducts(x + row, s.of_x + from, p.head_dim);
    of_before.AddProducts(x_before + row, s.of_x_before + from, p.head_dim);
  }
  of_state.Add(s.of_state + j * f.n_pad, p.state_dim);
  const float now = of_now.Fold();
  const float before = of_before.Fold();
  const float lambda = s.lambda[i];
  const float rest = 1.0f - lambda;
  const float decayed = s.alpha[i] * before;
  s.d_a[i] = std::fma(s.alpha[i], of_state.Fold(), s.beta[i] * before);
  s.d_tau[i] = ((now - decayed) * s.dt[i]) * (lambda * rest);
  s.d_dt[i] = std::fma(rest, decayed, lambda * now);
}

// The coordinates u and w of angles `at` on. It has no constructor: the
// compiler's own would not be compiled for the target.
struct Turned {
  hn::Vec<VectorTag> u, w;
};
HWY_INLINE Turned LoadPairs(const Mamba3ScanProblem& p, const float* x,
                            int64_t at) {
  const VectorTag d;
  if (p.mimo()) {
    return {hn::LoadU(d, x + at), hn::LoadU(d, x + p.state_dim / 2 + at)};
  }
  hn::Vec<VectorTag> u, w;
  hn::LoadInterleaved2(d, x + 2 * at, u, w);
  return {u, w};
}

// 6 for token t, `i` of the piece.
inline void ReverseAngles(const ReverseHead& head, int64_t t, int64_t i,
                          const float* d_q_rows, ReverseScratch& s) {
  const VectorTag d;
  const Mamba3ScanProblem& p = head.p;
  const Mamba3Scratch& f = s.head;
  if (p.angles == 0) return;
  const float* q = s.q + i * f.k_stride;
  const float* k = s.k + (i + 1) * f.k_stride;
  LoadRow(head.forward.vartheta.At(t), p.angles, s.rate);
  for (int64_t a = 0; a < p.angles; a += VectorLanes()) {
    auto turn = hn::Zero(d);
    for (int64_t r = 0; r < p.ranks; ++r) {
      const int64_t row = r * f.n_pad;
      const Turned of_q = LoadPairs(p, q + row, a);
      const Turned of_k = LoadPairs(p, k + row, a);
      const Turned d_q = LoadPairs(p, d_q_rows + row, a);
      const Turned d_k = LoadPairs(p, s.d_k + row, a);
      turn = hn::MulAdd(d_q.w, of_q.u, turn);
      turn = hn::NegMulAdd(d_q.u, of_q.w, turn);
      turn = hn::MulAdd(d_k.w, of_k.u, turn);
      turn = hn::NegMulAdd(d_k.u, of_k.w, turn);
    }
    const auto theta =
        hn::MulAdd(hn::Set(d, kTwoPi), turn, hn::Load(d, s.theta + a));
    hn::Store(theta, d, s.theta + a);
    hn::Store(TanhCore(d, hn::Load(d, s.rate + a)), d, s.rate + a);
  }
  Stripes steps;
  steps.AddProducts(s.theta, s.rate, p.angles);
  s.d_dt[i] = std::fma(0.5f, steps.Fold(), s.d_dt[i]);
  const auto half = hn::Set(d, s.dt[i] * 0.5f);
  const auto one = hn::Set(d, 1.0f);
  for (int64_t a = 0; a < p.angles; a += VectorLanes()) {
    const auto rate = hn::Load(d, s.rate + a);
    const auto theta = hn::Mul(hn::Load(d, s.theta + a), half);
    hn::Store(hn::Mul(theta, hn::NegMulAdd(rate, rate, one)), d, s.rate + a);
  }
  WriteRow(s.rate, p.angles, head.d_vartheta.At(t));
}

// 7: [r, n_pad] turned back to `to`, by the turns of token i. Lanes that do not
// turn are stored as they were; MIMO's w's come after the u's, whose last
// vector may reach into them.
inline void RotateBack(const Mamba3ScanProblem& p, const float* HWY_RESTRICT x,
                       int64_t i, const ReverseScratch& s,
                       float* HWY_RESTRICT to) {
  const VectorTag d;
  const Mamba3Scratch& f = s.head;
  std::copy_n(x, f.k_stride, to);
  for (int64_t r = 0; r < p.ranks; ++r, x += f.n_pad, to += f.n_pad) {
    for (const bool second : {false, true}) {
      if (second && !p.mimo()) continue;
      for (int64_t a = 0; a < p.angles; a += VectorLanes()) {
        const auto inside = hn::FirstN(d, static_cast<size_t>(p.angles - a));
        const auto sine = hn::Load(d, s.sine + i * f.a_stride + a);
        const auto cosine = hn::Load(d, s.cosine + i * f.a_stride + a);
        const Turned old = LoadPairs(p, x, a);
        const auto u = hn::MulAdd(old.u, cosine, hn::Mul(old.w, sine));
        const auto w = hn::MulSub(old.w, cosine, hn::Mul(old.u, sine));
        const auto new_u = hn::IfThenElse(inside, u, old.u);
        const auto new_w = hn::IfThenElse(inside, w, old.w);
        if (!p.mimo()) {
          hn::StoreInterleaved2(new_u, new_w, d, to + 2 * a);
        } else {
          hn::StoreU(second ? new_w : new_u, d,
                     to + (second ? p.state_dim / 2 : 0) + a);
        }
      }
    }
  }
}

// sums = sums + x
inline void AddRow(const float* HWY_RESTRICT x, int64_t count,
                   float* HWY_RESTRICT sums) {
  const VectorTag d;
  for (int64_t n = 0; n < count; n += VectorLanes()) {
    hn::StoreU(hn::Add(hn::LoadU(d, sums + n), hn::LoadU(d, x + n)), d,
               sums + n);
  }
}

// 4 to 7 for token t, `i` of the piece and `j` of its block.
inline void WalkToken(const ReverseHead& head, int64_t t, int64_t i, int64_t j,
                      ReverseScratch& s) {
  const Mamba3ScanProblem& p = head.p;
  const Mamba3Scratch& f = s.head;
  const float* d_q = s.d_q + j * f.k_stride;
  ReverseChannels(head, t, i, j, s);
  ReverseKeys(p, i, j, s);
  ReverseScalars(p, i, j, s);
  ReverseAngles(head, t, i, d_q, s);
  const int64_t row = i * f.k_stride;
  RotateBack(p, d_q, i, s, s.turned_q + row);
  RotateBack(p, s.d_k, i, s, s.turned_k + row);
  if (!p.bias) return;
  AddRow(s.turned_q + row, f.k_stride, s.sums.bq);
  AddRow(s.turned_k + row, f.k_stride, s.sums.bk);
}

// What the walk reads of tokens before t: of the next block here, of the next
// piece there.
inline void AskFor(const ReverseHead& head, int64_t t) {
  const int64_t first = head.task.first;
  const int64_t piece = t - head.job.checkpoint;
  if (piece >= first) PrefetchInputs(head.p, head.forward, piece);
  const int64_t block = t - kReverseBlock;
  if (block < first) return;
  const int64_t ranks = head.p.reduce ? 1 : head.p.ranks;
  for (int64_t r = 0; r < ranks; ++r) {
    PrefetchRow(head.dy.At(block, r), head.p.head_dim);
  }
}

// The tokens first .. end - 1 of the piece that begins at token t.
inline void WalkBlock(const ReverseHead& head, int64_t t, int64_t first,
                      int64_t end, ReverseScratch& s) {
  for (int64_t i = end; i-- > first;) {
    s.decay[i - first] = s.decay_behind;
    s.decay_behind = s.alpha[i];
    ReverseOutput(head, t + i, i, i - first, s);
    AskFor(head, t + i);
  }
  ReverseBlock(s, head.p, first, end);
  for (int64_t i = end; i-- > first;) WalkToken(head, t + i, i, i - first, s);
}

// 7: a piece's part of dq and dk, after the head before in the group; the last
// one finishes them.
inline void AddToGroup(const ReverseHead& head, int64_t t, int64_t count,
                       ReverseScratch& s) {
  const ReverseJob& job = head.job;
  const Mamba3ScanProblem& p = head.p;
  const Mamba3Scratch& f = s.head;
  const int64_t task = head.task.run * p.heads + head.task.head;
  const int64_t group = head.task.head / p.group();
  const int64_t place = head.task.head % p.group();
  const int64_t done = head.task.end - t;
  if (place > 0) job.order->WaitForTokens(task - 1, done);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t r = 0; r < p.ranks; ++r) {
      const int64_t from = i * f.k_stride + r * f.n_pad;
      const int64_t to = job.RowOf(head.task.row, t + i, r, group);
      AddRow(s.turned_q + from, p.state_dim, job.dq + to);
      AddRow(s.turned_k + from, p.state_dim, job.dk + to);
      if (place + 1 < p.group()) continue;
      WriteRow(job.dq + to, p.state_dim,
               RowAt(job.outputs->dq, head.task.row, t + i, r, group));
      WriteRow(job.dk + to, p.state_dim,
               RowAt(job.outputs->dk, head.task.row, t + i, r, group));
    }
  }
  job.order->PublishTokens(task, done);
}

// The tokens of a piece, from the last to the first.
inline void WalkPiece(const ReverseHead& head, int64_t t, int64_t count,
                      ReverseScratch& s) {
  const Mamba3Task& task = head.task;
  const Mamba3ScanBackwardOutputs& out = *head.job.outputs;
  for (int64_t end = count; end > 0;) {
    const int64_t first = (end - 1) / kReverseBlock * kReverseBlock;
    WalkBlock(head, t, first, end, s);
    end = first;
  }
  WriteRow(s.d_a, count, From(RowAt(out.da, task.row, task.head), t));
  WriteRow(s.d_dt, count, From(RowAt(out.ddt, task.row, task.head), t));
  WriteRow(s.d_tau, count, From(RowAt(out.dtau, task.row, task.head), t));
  AddToGroup(head, t, count, s);
}

// 9: the run's sums, after those of the run before.
inline void AddToHead(const ReverseHead& head, ReverseScratch& s) {
  const Mamba3Scratch& f = s.head;
  const int64_t h = head.task.head;
  float* totals = head.job.totals + h * HeadSums::Size(f);
  Stripes skip;
  skip.Add(s.sums.d, head.p.head_dim);
  head.job.order->WaitForRuns(h, head.task.run);
  AddRow(s.sum_memory, HeadSums::Plain(f), totals);
  HeadSums::At(totals, f).d[0] += skip.Fold();
  head.job.order->PublishRuns(h, head.task.run + 1);
}

inline void ReverseRun(const ReverseJob& job, const Mamba3Task& task,
                       ReverseScratch& s) {
  const ReverseHead head(job, task);
  BeginReverse(head, s);
  KeepStates(job, task, head.forward, s);
  const int64_t length = task.end - task.first;
  for (int64_t piece = (length + job.checkpoint - 1) / job.checkpoint;
       piece-- > 0;) {
    const int64_t t = task.first + piece * job.checkpoint;
    const int64_t count = std::min(job.checkpoint, task.end - t);
    RestorePiece(job, task, head.forward, piece, t, count, s);
    WalkPiece(head, t, count, s);
  }
  if (head.p.carry_in) WriteCarry(head, s);
  AddToHead(head, s);
}

// 9: what a head has once, summed over the runs.
inline void WriteHead(const ReverseJob& job, int64_t h,
                      const Mamba3Scratch& f) {
  const Mamba3ScanProblem& p = *job.forward.problem;
  const Mamba3ScanBackwardOutputs& out = *job.outputs;
  const HeadSums sums = HeadSums::At(job.totals + h * HeadSums::Size(f), f);
  for (int64_t r = 0; r < p.ranks; ++r) {
    const int64_t n = r * f.n_pad;
    const int64_t c = r * f.p_pad;
    if (p.bias) {
      WriteRow(sums.bq + n, p.state_dim, RowAt(out.dbq, h, r));
      WriteRow(sums.bk + n, p.state_dim, RowAt(out.dbk, h, r));
    }
    if (p.mimo()) WriteRow(sums.psi + c, p.head_dim, RowAt(out.dpsi, h, r));
    if (p.mimo() && p.gate) {
      WriteRow(sums.zeta + c, p.head_dim, RowAt(out.dzeta, h, r));
    }
    if (p.reduce) WriteRow(sums.phi + c, p.head_dim, RowAt(out.dphi, h, r));
  }
  if (p.norm_epsilon) {
    WriteRow(sums.weight, p.head_dim, RowAt(out.dnorm_weight, h));
  }
  if (p.skip) out.dd(h) = Exported(sums.d[0] + 0.0f);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
