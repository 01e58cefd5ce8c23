// One head of one run, token by token, in the steps of N15: 1 weights (a block
// of tokens at once), 2 angles, 3 rotation, 4 and 5 state and read-out
// together, 6 norm, gate, ranks. A lane is a channel p in 4 to 6, an angle in 2
// and 3.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/mamba3_work.h"
#include "optimized/simd/elementary-inl.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using VectorTag = hn::ScalableTag<float>;

inline int64_t VectorLanes() {
  return static_cast<int64_t>(hn::Lanes(VectorTag()));
}

// Channels of a tile of the state.
inline int64_t TileWidth() { return kChannelVectors * VectorLanes(); }

// 1: for tokens t .. t + count - 1, at most kWeightBlock.
inline void WeighTokens(const Mamba3Job& job, const Mamba3Task& task, int64_t t,
                        int64_t count, Mamba3Scratch& s) {
  const VectorTag d;
  const Mamba3ScanInputs& in = *job.inputs;
  const auto at = [&](auto row) {
    const auto bytes = static_cast<int64_t>(LaneBytes(row.lane));
    row.data = static_cast<const char*>(row.data) + t * row.stride * bytes;
    return row;
  };
  LoadRow(at(RowAt(in.dt, task.row, task.head)), count, s.dt);
  LoadRow(at(RowAt(in.a, task.row, task.head)), count, s.alpha);
  LoadRow(at(RowAt(in.tau, task.row, task.head)), count, s.gamma);
  const auto one = hn::Set(d, 1.0f);
  for (int64_t i = 0; i < count; i += VectorLanes()) {
    const auto dt = hn::Load(d, s.dt + i);
    const auto alpha = Exp(d, hn::Load(d, s.alpha + i));
    const auto lambda = Sigmoid(d, hn::Load(d, s.gamma + i));
    const auto rest = hn::Mul(hn::Sub(one, lambda), dt);
    hn::Store(alpha, d, s.alpha + i);
    hn::Store(hn::Mul(lambda, dt), d, s.gamma + i);
    hn::Store(hn::Mul(rest, alpha), d, s.beta + i);
  }
}

// 2
inline void AdvanceAngles(const Mamba3Job& job, const Mamba3Task& task,
                          int64_t t, float dt, Mamba3Scratch& s) {
  const VectorTag d;
  const int64_t count = job.problem->angles;
  if (count == 0) return;
  LoadRow(RowAt(job.inputs->vartheta, task.row, t, task.head), count, s.sine);
  const auto one = hn::Set(d, 1.0f);
  for (int64_t i = 0; i < count; i += VectorLanes()) {
    const auto rate = TanhCore(d, hn::Load(d, s.sine + i));
    const auto step = hn::Mul(hn::Mul(rate, hn::Set(d, dt)), hn::Set(d, 0.5f));
    const auto theta = hn::Add(hn::Load(d, s.theta + i), step);
    const auto reduced = hn::Sub(theta, hn::Floor(theta));
    const auto wrapped = hn::IfThenZeroElse(hn::Eq(reduced, one), reduced);
    const auto turn = SinCosTurnsCore(d, wrapped);
    hn::Store(wrapped, d, s.theta + i);
    hn::Store(turn.sin, d, s.sine + i);
    hn::Store(turn.cos, d, s.cosine + i);
  }
}

template <class V>
struct Pair {
  V u, w;
};

template <class D>
HWY_INLINE Pair<hn::Vec<D>> Turn(D d, hn::Vec<D> u, hn::Vec<D> w,
                                 const Mamba3Scratch& s, int64_t i,
                                 int64_t count) {
  const auto sine = hn::Load(d, s.sine + i);
  const auto cosine = hn::Load(d, s.cosine + i);
  const auto turned = hn::FirstN(d, static_cast<size_t>(count - i));
  return {hn::IfThenElse(turned, hn::MulSub(u, cosine, hn::Mul(w, sine)), u),
          hn::IfThenElse(turned, hn::MulAdd(u, sine, hn::Mul(w, cosine)), w)};
}

// 3: one rank of q or k, in place.
inline void Rotate(const Mamba3ScanProblem& p, const Mamba3Scratch& s,
                   float* HWY_RESTRICT x) {
  const VectorTag d;
  const int64_t half = p.state_dim / 2;
  for (int64_t i = 0; i < p.angles; i += VectorLanes()) {
    hn::Vec<VectorTag> u, w;
    if (p.mimo()) {
      u = hn::LoadU(d, x + i);
      w = hn::LoadU(d, x + half + i);
      const auto pair = Turn(d, u, w, s, i, p.angles);
      // The last u may reach into the w's: those lanes are as loaded, and the
      // store of w comes second.
      hn::StoreU(pair.u, d, x + i);
      hn::StoreU(pair.w, d, x + half + i);
    } else {
      hn::LoadInterleaved2(d, x + 2 * i, u, w);
      const auto pair = Turn(d, u, w, s, i, p.angles);
      hn::StoreInterleaved2(pair.u, pair.w, d, x + 2 * i);
    }
  }
  if (p.rotated_lane == Lane::kF32) return;
  for (int64_t n = 0; n < p.state_dim; n += VectorLanes()) {
    hn::Store(RoundToBf16Lane(d, hn::Load(d, x + n)), d, x + n);
  }
}

// 3: `bias` [n_pad] of the rank, in scratch.
inline void LoadRotated(const Mamba3ScanProblem& p, const RowOfLane& row,
                        const float* HWY_RESTRICT bias, const Mamba3Scratch& s,
                        float* HWY_RESTRICT x) {
  const VectorTag d;
  LoadRow(row, p.state_dim, x);
  for (int64_t n = 0; p.bias && n < p.state_dim; n += VectorLanes()) {
    hn::Store(hn::Add(hn::Load(d, x + n), hn::Load(d, bias + n)), d, x + n);
  }
  Rotate(p, s, x);
}

// [r, p_pad] psi v; SISO: v.
inline void UpProject(const Mamba3Job& job, int64_t head, Mamba3Scratch& s,
                      float* HWY_RESTRICT x) {
  const VectorTag d;
  const Mamba3ScanProblem& p = *job.problem;
  for (int64_t r = 0; r < p.ranks; ++r) {
    float* row = x + r * s.p_pad;
    if (!p.mimo()) {
      for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
        hn::Store(hn::Load(d, s.v + c), d, row + c);
      }
      continue;
    }
    LoadRow(RowAt(job.inputs->psi, head, r), p.head_dim, row);
    for (int64_t c = 0; c < p.head_dim; c += VectorLanes()) {
      hn::Store(hn::Mul(hn::Load(d, row + c), hn::Load(d, s.v + c)), d,
                row + c);
    }
  }
}

// scale * from, one rank after the other.
inline void Scale(float scale, const float* HWY_RESTRICT from, int64_t count,
                  float* HWY_RESTRICT to) {
  const VectorTag d;
  const auto factor = hn::Set(d, scale);
  for (int64_t n = 0; n < count; n += VectorLanes()) {
    hn::Store(hn::Mul(factor, hn::Load(d, from + n)), d, to + n);
  }
}

// 4 and 5 of one token: kVectors vectors of channels from c on, `h` the same
// channels of the state. The state is read and written once for each n.
template <int kRanks, int kVectors>
HWY_INLINE void AdvanceTile(const Mamba3Scratch& s, int64_t n_end,
                            int64_t token, int64_t c, float decay,
                            float* HWY_RESTRICT h) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  const auto lanes = VectorLanes();
  const auto width = TileWidth();
  const auto alpha = hn::Set(d, decay);
  const float* HWY_RESTRICT x_previous = s.x + token * s.x_stride + c;
  const float* HWY_RESTRICT x = x_previous + s.x_stride;
  const float* HWY_RESTRICT q = s.q + token * s.k_stride;
  const float* HWY_RESTRICT now = s.now + token * s.k_stride;
  const float* HWY_RESTRICT later = s.later + token * s.k_stride;
  V o[kRanks][kVectors];
  for (auto& rank : o) {
    for (V& sum : rank) sum = hn::Zero(d);
  }
  for (int64_t n = 0; n < n_end; ++n, h += width) {
    V state[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      state[v] = hn::Mul(alpha, hn::Load(d, h + v * lanes));
    }
    for (int r = 0; r < kRanks; ++r) {
      const auto weight_later = hn::Set(d, later[r * s.n_pad + n]);
      const auto weight_now = hn::Set(d, now[r * s.n_pad + n]);
      for (int v = 0; v < kVectors; ++v) {
        const int64_t channel = r * s.p_pad + v * lanes;
        state[v] = hn::MulAdd(weight_later, hn::Load(d, x_previous + channel),
                              state[v]);
        state[v] = hn::MulAdd(weight_now, hn::Load(d, x + channel), state[v]);
      }
    }
    for (int r = 0; r < kRanks; ++r) {
      const auto read = hn::Set(d, q[r * s.n_pad + n]);
      for (int v = 0; v < kVectors; ++v) {
        o[r][v] = hn::MulAdd(read, state[v], o[r][v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) hn::Store(state[v], d, h + v * lanes);
  }
  float* HWY_RESTRICT out = s.o + token * s.x_stride + c;
  for (int r = 0; r < kRanks; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(o[r][v], d, out + r * s.p_pad + v * lanes);
    }
  }
}

// The same with any number of ranks, one vector of channels, sums in memory.
HWY_INLINE void AdvanceRanks(const Mamba3Scratch& s, const Mamba3ScanProblem& p,
                             int64_t token, int64_t c, float decay,
                             float* HWY_RESTRICT h) {
  const VectorTag d;
  const auto alpha = hn::Set(d, decay);
  const float* HWY_RESTRICT x_previous = s.x + token * s.x_stride + c;
  const float* HWY_RESTRICT x = x_previous + s.x_stride;
  float* HWY_RESTRICT out = s.o + token * s.x_stride + c;
  const int64_t weights = token * s.k_stride;
  for (int64_t r = 0; r < p.ranks; ++r) {
    hn::Store(hn::Zero(d), d, out + r * s.p_pad);
  }
  for (int64_t n = 0; n < p.state_dim; ++n, h += TileWidth()) {
    auto state = hn::Mul(alpha, hn::Load(d, h));
    for (int64_t r = 0; r < p.ranks; ++r) {
      const int64_t at = weights + r * s.n_pad + n;
      state = hn::MulAdd(hn::Set(d, s.later[at]),
                         hn::Load(d, x_previous + r * s.p_pad), state);
      state = hn::MulAdd(hn::Set(d, s.now[at]), hn::Load(d, x + r * s.p_pad),
                         state);
    }
    hn::Store(state, d, h);
    for (int64_t r = 0; r < p.ranks; ++r) {
      const auto read = hn::Set(d, s.q[weights + r * s.n_pad + n]);
      float* HWY_RESTRICT o = out + r * s.p_pad;
      hn::Store(hn::MulAdd(read, state, hn::Load(d, o)), d, o);
    }
  }
}

// All tokens of a block on one tile of the state, then the next tile. Four
// ranks have half the vectors, so that their sums stay in registers.
inline void AdvanceState(const Mamba3ScanProblem& p, int64_t tokens,
                         const float* decay, const Mamba3Scratch& s) {
  const int64_t lanes = VectorLanes();
  const int64_t width = TileWidth();
  const int64_t n = p.state_dim;
  for (int64_t tile = 0; tile < p.head_dim; tile += width) {
    float* h = s.h + tile * n;
    const int64_t vectors =
        (std::min(width, p.head_dim - tile) + lanes - 1) / lanes;
    for (int64_t i = 0; i < tokens; ++i) {
      int64_t v = 0;
      const auto all = [&](int64_t step, auto advance) {
        for (; v + step <= vectors; v += step) {
          advance(tile + v * lanes, h + v * lanes);
        }
      };
#define LOCKSTEP_ADVANCE(RANKS, VECTORS)                         \
  all(VECTORS, [&](int64_t c, float* channels) HWY_ATTR {        \
    AdvanceTile<RANKS, VECTORS>(s, n, i, c, decay[i], channels); \
  })
      if (p.ranks == 1) {
        LOCKSTEP_ADVANCE(1, 4);
        LOCKSTEP_ADVANCE(1, 1);
      } else if (p.ranks == 2) {
        LOCKSTEP_ADVANCE(2, 4);
        LOCKSTEP_ADVANCE(2, 1);
      } else if (p.ranks == 4) {
        LOCKSTEP_ADVANCE(4, 2);
        LOCKSTEP_ADVANCE(4, 1);
      } else {
        all(1, [&](int64_t c, float* channels)
                   HWY_ATTR { AdvanceRanks(s, p, i, c, decay[i], channels); });
      }
#undef LOCKSTEP_ADVANCE
    }
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
