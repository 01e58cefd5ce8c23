// Steps 1 to 3 of N15 for a block of tokens: 1 weights, in vectors over time, 2
// angles and 3 rotation, in vectors over the angles.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_PREPARE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_PREPARE_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_PREPARE_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_PREPARE_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/mamba3_work.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/pairs-inl.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where a head's tokens lie; found once, a token at a time costs as much as its
// arithmetic.
struct HeadTensors {
  HeadTensors(const Mamba3Job& job, const Mamba3Task& task)
      : q(RowsOf(job.inputs->q, 1, 2, task.row, 0, 0, Group(job, task))),
        k(RowsOf(job.inputs->k, 1, 2, task.row, 0, 0, Group(job, task))),
        v(RowsOf(job.inputs->v, 1, 0, task.row, 0, task.head)),
        z(RowsOf(job.inputs->z, 1, 0, task.row, 0, task.head)),
        vartheta(RowsOf(job.inputs->vartheta, 1, 0, task.row, 0, task.head)),
        y(RowsOf(job.outputs->y, 1, 2, task.row, 0, 0, task.head)) {}

  static int64_t Group(const Mamba3Job& job, const Mamba3Task& task) {
    return task.head / job.problem->group();
  }

  HeadRows q, k, v, z, vartheta, y;
};

// Asks for what token t reads.
inline void PrefetchInputs(const Mamba3ScanProblem& p, const HeadTensors& rows,
                           int64_t t) {
  for (int64_t r = 0; r < p.ranks; ++r) {
    PrefetchRow(rows.q.At(t, r), p.state_dim);
    PrefetchRow(rows.k.At(t, r), p.state_dim);
  }
  PrefetchRow(rows.v.At(t), p.head_dim);
  if (p.angles > 0) PrefetchRow(rows.vartheta.At(t), p.angles);
  if (p.gate) PrefetchRow(rows.z.At(t), p.head_dim);
}

// 1: for tokens t .. t + count - 1, at most kWeightBlock.
inline void WeighTokens(const Mamba3Job& job, const Mamba3Task& task, int64_t t,
                        int64_t count, Mamba3Scratch& s) {
  const VectorTag d;
  const Mamba3ScanInputs& in = *job.inputs;
  LoadRow(From(RowAt(in.dt, task.row, task.head), t), count, s.dt);
  LoadRow(From(RowAt(in.a, task.row, task.head), t), count, s.alpha);
  LoadRow(From(RowAt(in.tau, task.row, task.head), t), count, s.gamma);
  const auto one = hn::Set(d, 1.0f);
  for (int64_t i = 0; i < count; i += VectorLanes()) {
    const auto dt = hn::Load(d, s.dt + i);
    const auto alpha = Exp(d, hn::Load(d, s.alpha + i));
    const auto lambda = Sigmoid(d, hn::Load(d, s.gamma + i));
    const auto rest = hn::Mul(hn::Sub(one, lambda), dt);
    hn::Store(alpha, d, s.alpha + i);
    hn::Store(hn::Mul(lambda, dt), d, s.gamma + i);
    hn::Store(rest, d, s.rest + i);
    hn::Store(hn::Mul(rest, alpha), d, s.beta + i);
  }
}

// 2: sine and cosine of tokens t .. t + count - 1, at most kTokenBlock, whose
// step sizes are `dt`. Only the sum is a chain over time; the rest goes over
// all tokens at once.
inline void AdvanceAngles(const HeadRows& vartheta, int64_t angles, int64_t t,
                          int64_t count, const float* dt, Mamba3Scratch& s) {
  const VectorTag d;
  const int64_t size = count * s.a_stride;
  if (angles == 0) return;
  float* HWY_RESTRICT sine = s.sine;
  float* HWY_RESTRICT cosine = s.cosine;
  for (int64_t i = 0; i < count; ++i) {
    LoadRow(vartheta.At(t + i), angles, sine + i * s.a_stride);
  }
  for (int64_t i = 0; i < size; i += VectorLanes()) {
    hn::Store(TanhCore(d, hn::Load(d, sine + i)), d, sine + i);
  }
  const auto one = hn::Set(d, 1.0f);
  for (int64_t i = 0; i < angles; i += VectorLanes()) {
    auto theta = hn::Load(d, s.theta + i);
    for (int64_t token = 0; token < count; ++token) {
      float* turns = sine + token * s.a_stride + i;
      const auto step = hn::Mul(hn::Load(d, turns), hn::Set(d, dt[token]));
      const auto sum = hn::Add(theta, hn::Mul(step, hn::Set(d, 0.5f)));
      const auto reduced = hn::Sub(sum, hn::Floor(sum));
      theta = hn::IfThenZeroElse(hn::Eq(reduced, one), reduced);
      hn::Store(theta, d, turns);
    }
    hn::Store(theta, d, s.theta + i);
  }
  for (int64_t i = 0; i < size; i += VectorLanes()) {
    const auto turn = SinCosTurnsCore(d, hn::Load(d, sine + i));
    hn::Store(turn.sin, d, sine + i);
    hn::Store(turn.cos, d, cosine + i);
  }
}

// The factors of neighbours (u, w): cos, sin of u and -sin, cos of w.
inline void SpreadTurns(int64_t angles, const float* HWY_RESTRICT sine,
                        const float* HWY_RESTRICT cosine,
                        const Mamba3Scratch& s) {
  const VectorTag d;
  for (int64_t i = 0; i < angles; i += VectorLanes()) {
    const auto sin = hn::Load(d, sine + i);
    const auto cos = hn::Load(d, cosine + i);
    hn::StoreInterleaved2(cos, sin, d, s.own + 2 * i);
    hn::StoreInterleaved2(hn::Neg(sin), cos, d, s.cross + 2 * i);
  }
}

// A rank's q and k of a token before their rotation, read in whole vectors.
// x + -0 is x, whatever x.
struct Unrotated {
  const float* q;   // [n]
  const float* k;   // [n]
  const float* bq;  // [n_pad]; -0 where there is no bias
  const float* bk;  // [n_pad]
  int64_t state_dim;
  int64_t angles;
};

// Values read, and the bias added.
HWY_INLINE hn::Vec<VectorTag> Biased(const float* HWY_RESTRICT x,
                                     const float* HWY_RESTRICT bias,
                                     int64_t n) {
  const VectorTag d;
  return hn::Add(hn::LoadU(d, x + n), hn::LoadU(d, bias + n));
}

// 3, neighbours: both of a pair by one fma, u cos + w (-sin), u sin + w cos.
// `sink(n, q, k)` gets every vector of the rows.
template <class Sink>
HWY_INLINE void RotateNeighbours(const Unrotated& x, const Mamba3Scratch& s,
                                 const Sink& sink) {
  const VectorTag d;
  const Unrotated at = x;
  const float* HWY_RESTRICT own = s.own;
  const float* HWY_RESTRICT cross = s.cross;
  const int64_t turned = 2 * at.angles;
  const auto rotate = [&](int64_t n, hn::Vec<VectorTag> value) HWY_ATTR {
    const auto other = hn::Mul(SecondOfPairs(value), hn::Load(d, cross + n));
    return hn::MulAdd(FirstOfPairs(value), hn::Load(d, own + n), other);
  };
  int64_t n = 0;
  for (; n + VectorLanes() <= turned; n += VectorLanes()) {
    sink(n, rotate(n, Biased(at.q, at.bq, n)),
         rotate(n, Biased(at.k, at.bk, n)));
  }
  if (n < turned) {
    const auto inside = hn::FirstN(d, static_cast<size_t>(turned - n));
    const auto q = Biased(at.q, at.bq, n);
    const auto k = Biased(at.k, at.bk, n);
    sink(n, hn::IfThenElse(inside, rotate(n, q), q),
         hn::IfThenElse(inside, rotate(n, k), k));
    n += VectorLanes();
  }
  for (; n < at.state_dim; n += VectorLanes()) {
    sink(n, Biased(at.q, at.bq, n), Biased(at.k, at.bk, n));
  }
}

// 3, halves: first the rows as they are, then the u's, then the w's. The last
// u's may reach into the w's, which come after; lanes that do not turn are as
// they were.
template <class Sink>
HWY_INLINE void RotateHalves(const Unrotated& x, const float* HWY_RESTRICT sine,
                             const float* HWY_RESTRICT cosine,
                             const Sink& sink) {
  const VectorTag d;
  const Unrotated at = x;
  const int64_t half = at.state_dim / 2;
  for (int64_t n = 0; n < at.state_dim; n += VectorLanes()) {
    sink(n, Biased(at.q, at.bq, n), Biased(at.k, at.bk, n));
  }
  for (const bool second : {false, true}) {
    for (int64_t i = 0; i < at.angles; i += VectorLanes()) {
      const auto sin = hn::Load(d, sine + i);
      const auto cos = hn::Load(d, cosine + i);
      const auto inside = hn::FirstN(d, static_cast<size_t>(at.angles - i));
      const auto rotate = [&](const float* value, const float* bias) HWY_ATTR {
        const auto u = Biased(value, bias, i);
        const auto w = Biased(value, bias, half + i);
        const auto turned = second ? hn::MulAdd(u, sin, hn::Mul(w, cos))
                                   : hn::MulSub(u, cos, hn::Mul(w, sin));
        return hn::IfThenElse(inside, turned, second ? w : u);
      };
      sink(second ? half + i : i, rotate(at.q, at.bq), rotate(at.k, at.bk));
    }
  }
}

template <class Sink>
HWY_INLINE void Rotate(const Unrotated& x, bool halves, int64_t token,
                       const Mamba3Scratch& s, const Sink& sink) {
  if (halves) {
    const int64_t at = token * s.a_stride;
    RotateHalves(x, s.sine + at, s.cosine + at, sink);
  } else {
    RotateNeighbours(x, s, sink);
  }
}

// Rounds what a sink gets.
template <Lane kLane, class Sink>
struct Rounded {
  Sink sink;
  HWY_INLINE void operator()(int64_t n, hn::Vec<VectorTag> q,
                             hn::Vec<VectorTag> k) const {
    const VectorTag d;
    sink(n, RoundToLane(d, kLane, q), RoundToLane(d, kLane, k));
  }
};

// 3 for rank r of token t, `token` of the block, whose turns are spread.
template <class Sink>
HWY_INLINE void RotateRank(const Mamba3ScanProblem& p, const HeadTensors& rows,
                           int64_t t, int64_t token, int64_t r,
                           Mamba3Scratch& s, const Sink& sink) {
  const int64_t n = p.state_dim;
  // Vectors of a second half that is none of whole vectors run over the end.
  const bool copy = p.mimo() && n / 2 % VectorLanes() != 0;
  const auto load = [&](const RowOfLane& row, float* buffer) -> const float* {
    if (!copy) return RowInPlace(row, n, buffer);
    LoadRow(row, n, buffer);
    return buffer;
  };
  const Unrotated x{load(rows.q.At(t, r), s.row_q),
                    load(rows.k.At(t, r), s.row_k),
                    s.bq + r * s.n_pad,
                    s.bk + r * s.n_pad,
                    n,
                    p.angles};
  switch (p.rotated_lane) {
    case Lane::kBf16:
      return Rotate(x, p.mimo(), token, s, Rounded<Lane::kBf16, Sink>{sink});
    case Lane::kF16:
      return Rotate(x, p.mimo(), token, s, Rounded<Lane::kF16, Sink>{sink});
    default:
      return Rotate(x, p.mimo(), token, s, sink);
  }
}

// [r, p_pad] psi v of one token, v [p_pad] in scratch (MIMO).
inline void UpProject(const Mamba3Job& job, int64_t head,
                      const float* HWY_RESTRICT v, int64_t p_pad,
                      float* HWY_RESTRICT x) {
  const VectorTag d;
  const Mamba3ScanProblem& p = *job.problem;
  for (int64_t r = 0; r < p.ranks; ++r) {
    float* row = x + r * p_pad;
    LoadRow(RowAt(job.inputs->psi, head, r), p.head_dim, row);
    for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
      hn::Store(hn::Mul(hn::Load(d, row + c), hn::Load(d, v + c)), d, row + c);
    }
  }
}

// v of a token and, MIMO, its x; SISO: v is x.
inline void LoadChannels(const Mamba3Job& job, int64_t head,
                         const RowOfLane& row, Mamba3Scratch& s, float* x) {
  const Mamba3ScanProblem& p = *job.problem;
  if (!p.mimo()) return LoadRow(row, p.head_dim, x);
  LoadRow(row, p.head_dim, s.v);
  UpProject(job, head, s.v, s.p_pad, x);
}

// scale * from, `count` values and the padding behind them.
inline void Scale(float scale, const float* HWY_RESTRICT from, int64_t count,
                  float* HWY_RESTRICT to) {
  const VectorTag d;
  const auto factor = hn::Set(d, scale);
  for (int64_t n = 0; n < count; n += VectorLanes()) {
    hn::Store(hn::Mul(factor, hn::Load(d, from + n)), d, to + n);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
