// Steps 4 and 5 of N15 together: the state, in tiles of channels that stay in
// L1 for a block of tokens, and its read-out. A lane is a channel p.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/mamba3_work.h"
#include "reference/contract/mamba3_scan.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Channels of a tile of the state.
inline int64_t TileWidth() { return kChannelVectors * VectorLanes(); }

// 4 and 5 of one token: kVectors vectors of channels from c on, `h` the same
// channels of the state, read and written once for each n. x and o stay in
// registers, with one rank 11 of AVX2's 16: 5 loads for 8 multiplications.
template <int kRanks, int kVectors>
HWY_INLINE void AdvanceTile(const Mamba3Scratch& s, int64_t n_end,
                            int64_t token, int64_t c, float decay,
                            float* HWY_RESTRICT h) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  const auto lanes = VectorLanes();
  const auto width = TileWidth();
  const auto alpha = hn::Set(d, decay);
  const float* HWY_RESTRICT q = s.q + token * s.k_stride;
  const float* HWY_RESTRICT now = s.now + token * s.k_stride;
  const float* HWY_RESTRICT later = s.later + token * s.k_stride;
  const float* rows = s.x + token * s.x_stride + c;
  V before[kRanks][kVectors], x[kRanks][kVectors], o[kRanks][kVectors];
  for (int r = 0; r < kRanks; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t channel = r * s.p_pad + v * lanes;
      before[r][v] = hn::Load(d, rows + channel);
      x[r][v] = hn::Load(d, rows + s.x_stride + channel);
      o[r][v] = hn::Zero(d);
    }
  }
  const auto advance = [&](int64_t n, float* HWY_RESTRICT channels) HWY_ATTR {
    V state[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      state[v] = hn::Mul(alpha, hn::Load(d, channels + v * lanes));
    }
    for (int r = 0; r < kRanks; ++r) {
      const auto weight_later = hn::Set(d, later[r * s.n_pad + n]);
      const auto weight_now = hn::Set(d, now[r * s.n_pad + n]);
      for (int v = 0; v < kVectors; ++v) {
        state[v] = hn::MulAdd(weight_later, before[r][v], state[v]);
      }
      for (int v = 0; v < kVectors; ++v) {
        state[v] = hn::MulAdd(weight_now, x[r][v], state[v]);
      }
    }
    for (int r = 0; r < kRanks; ++r) {
      const auto read = hn::Set(d, q[r * s.n_pad + n]);
      for (int v = 0; v < kVectors; ++v) {
        o[r][v] = hn::MulAdd(read, state[v], o[r][v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(state[v], d, channels + v * lanes);
    }
  };
  int64_t n = 0;
  for (; n + 2 <= n_end; n += 2, h += 2 * width) {
    advance(n, h);
    advance(n + 1, h + width);
  }
  if (n < n_end) advance(n, h);
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

// One token on the `vectors` vectors of a tile, kVectors at a time.
template <int kRanks, int kVectors>
HWY_INLINE void AdvanceVectors(const Mamba3Scratch& s, int64_t n, int64_t token,
                               int64_t c, int64_t vectors, float decay,
                               float* HWY_RESTRICT h) {
  int64_t v = 0;
  for (; v + kVectors <= vectors; v += kVectors) {
    const int64_t at = v * VectorLanes();
    AdvanceTile<kRanks, kVectors>(s, n, token, c + at, decay, h + at);
  }
  for (; kVectors > 1 && v < vectors; ++v) {
    const int64_t at = v * VectorLanes();
    AdvanceTile<kRanks, 1>(s, n, token, c + at, decay, h + at);
  }
}

// All tokens of a block on one tile of the state, then the next tile. Before
// each token's turn in the last tile `prefetch(token)`: earlier, and the rest
// of the state would drive out of L1 what it asks for.
template <class Prefetch>
inline void AdvanceState(const Mamba3ScanProblem& p, int64_t tokens,
                         const float* decay, const Mamba3Scratch& s,
                         const Prefetch& prefetch) {
  const int64_t lanes = VectorLanes();
  const int64_t width = TileWidth();
  const int64_t n = p.state_dim;
  for (int64_t c = 0; c < p.head_dim; c += width) {
    float* h = s.h + c * n;
    const bool last = c + width >= p.head_dim;
    const int64_t vectors =
        (std::min(width, p.head_dim - c) + lanes - 1) / lanes;
    for (int64_t i = 0; i < tokens; ++i) {
      if (last) prefetch(i);
      if (p.ranks == 1) {
        AdvanceVectors<1, 2>(s, n, i, c, vectors, decay[i], h);
      } else if (p.ranks == 2) {
        AdvanceVectors<2, 2>(s, n, i, c, vectors, decay[i], h);
      } else if (p.ranks == 4) {
        AdvanceVectors<4, 2>(s, n, i, c, vectors, decay[i], h);
      } else {
        for (int64_t v = 0; v < vectors; ++v) {
          AdvanceRanks(s, p, i, c + v * lanes, decay[i], h + v * lanes);
        }
      }
    }
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
