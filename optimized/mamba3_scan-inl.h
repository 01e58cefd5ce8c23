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

// Tokens, and vectors of channels, at a time: what the registers hold of x and
// o. Of 32 they take 24 with two ranks, 20 with one rank and four vectors.
template <int kRanks>
inline constexpr int kTokensOf = HWY_TARGET != HWY_AVX2 && kRanks <= 2 ? 2 : 1;
template <int kRanks>
inline constexpr int kVectorsOf = HWY_TARGET != HWY_AVX2 && kRanks == 1 ? 4 : 2;

// 4 and 5 of kTokens tokens from `token` on: kVectors vectors of channels from
// c on, `h` the same channels of the state, read and written once for each n. x
// and o stay in registers, with one rank and one token 11 of AVX2's 16: 5 loads
// and 2 stores for 8 multiplications. Two tokens and four vectors have 10 and 4
// for 32, and four times as many sums, whose latency nothing else hides.
template <int kRanks, int kVectors, int kTokens>
HWY_INLINE void AdvanceTile(const Mamba3Scratch& s, int64_t n_end,
                            int64_t token, int64_t c,
                            const float* HWY_RESTRICT decay,
                            float* HWY_RESTRICT h) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  const auto lanes = VectorLanes();
  const auto width = TileWidth();
  const int64_t next = s.k_stride;
  const int64_t tile = width * n_end;
  const float* HWY_RESTRICT q = s.q + token * next;
  const float* HWY_RESTRICT now = s.now + token * next;
  const float* HWY_RESTRICT later = s.later + token * next;
  const float* rows = s.x + token * s.x_stride + c;
  // x of the token before, then of each token.
  V alpha[kTokens], x[kTokens + 1][kRanks][kVectors];
  V o[kTokens][kRanks][kVectors];
  for (int t = 0; t < kTokens; ++t) alpha[t] = hn::Set(d, decay[token + t]);
  for (int r = 0; r < kRanks; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const float* of_rank = rows + r * s.p_pad + v * lanes;
      for (int t = 0; t <= kTokens; ++t) {
        x[t][r][v] = hn::Load(d, of_rank + t * s.x_stride);
      }
      for (int t = 0; t < kTokens; ++t) o[t][r][v] = hn::Zero(d);
    }
  }
  const auto place = [&](int v) {
    return v / kChannelVectors * tile + v % kChannelVectors * lanes;
  };
  const auto advance = [&](int64_t n, float* HWY_RESTRICT channels) HWY_ATTR {
    V state[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      state[v] = hn::Load(d, channels + place(v));
    }
    for (int t = 0; t < kTokens; ++t) {
      for (int v = 0; v < kVectors; ++v) {
        state[v] = hn::Mul(alpha[t], state[v]);
      }
      for (int r = 0; r < kRanks; ++r) {
        const int64_t at = t * next + r * s.n_pad + n;
        const auto weight_later = hn::Set(d, later[at]);
        const auto weight_now = hn::Set(d, now[at]);
        for (int v = 0; v < kVectors; ++v) {
          state[v] = hn::MulAdd(weight_later, x[t][r][v], state[v]);
        }
        for (int v = 0; v < kVectors; ++v) {
          state[v] = hn::MulAdd(weight_now, x[t + 1][r][v], state[v]);
        }
      }
      for (int r = 0; r < kRanks; ++r) {
        const auto read = hn::Set(d, q[t * next + r * s.n_pad + n]);
        for (int v = 0; v < kVectors; ++v) {
          o[t][r][v] = hn::MulAdd(read, state[v], o[t][r][v]);
        }
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(state[v], d, channels + place(v));
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
      float* HWY_RESTRICT of_rank = out + r * s.p_pad + v * lanes;
      for (int t = 0; t < kTokens; ++t) {
        hn::Store(o[t][r][v], d, of_rank + t * s.x_stride);
      }
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

// kTokens tokens on `vectors` vectors, of one tile or more.
template <int kRanks, int kTokens>
HWY_INLINE void AdvanceVectors(const Mamba3Scratch& s, int64_t n, int64_t token,
                               int64_t c, int64_t vectors, const float* decay,
                               float* HWY_RESTRICT h) {
  constexpr int kAll = kVectorsOf<kRanks>;
  const auto advance = [&]<int kOf>(int64_t v) HWY_ATTR {
    const int64_t at = v * VectorLanes();
    const int64_t place = v / kChannelVectors * TileWidth() * n +
                          v % kChannelVectors * VectorLanes();
    AdvanceTile<kRanks, kOf, kTokens>(s, n, token, c + at, decay, h + place);
  };
  int64_t v = 0;
  for (; v + kAll <= vectors; v += kAll) advance.template operator()<kAll>(v);
  for (; v + 2 <= vectors; v += 2) advance.template operator()<2>(v);
  for (; v < vectors; ++v) advance.template operator()<1>(v);
}

// All tokens of a block on `vectors` vectors of the state.
template <int kRanks, class Prefetch>
HWY_INLINE void AdvanceTokens(const Mamba3Scratch& s, int64_t n, int64_t tokens,
                              int64_t c, int64_t vectors, const float* decay,
                              const Prefetch& prefetch, float* HWY_RESTRICT h) {
  constexpr int kAll = kTokensOf<kRanks>;
  int64_t i = 0;
  for (; i + kAll <= tokens; i += kAll) {
    for (int t = 0; t < kAll; ++t) prefetch(i + t);
    AdvanceVectors<kRanks, kAll>(s, n, i, c, vectors, decay, h);
  }
  for (; i < tokens; ++i) {
    prefetch(i);
    AdvanceVectors<kRanks, 1>(s, n, i, c, vectors, decay, h);
  }
}

// All tokens of a block on a tile or two of the state, then the next. Before
// each token's turn in the last one `prefetch(token)`: earlier, and the rest of
// the state would drive out of L1 what it asks for.
template <class Prefetch>
inline void AdvanceState(const Mamba3ScanProblem& p, int64_t tokens,
                         const float* decay, const Mamba3Scratch& s,
                         const Prefetch& prefetch) {
  const int64_t lanes = VectorLanes();
  const int64_t n = p.state_dim;
  const int64_t width =
      lanes * (p.ranks == 1 ? kVectorsOf<1> : kChannelVectors);
  for (int64_t c = 0; c < p.head_dim; c += width) {
    float* h = s.h + c * n;
    const bool last = c + width >= p.head_dim;
    const auto in_last = [&](int64_t i) {
      if (last) prefetch(i);
    };
    const int64_t vectors =
        (std::min(width, p.head_dim - c) + lanes - 1) / lanes;
    if (p.ranks == 1) {
      AdvanceTokens<1>(s, n, tokens, c, vectors, decay, in_last, h);
    } else if (p.ranks == 2) {
      AdvanceTokens<2>(s, n, tokens, c, vectors, decay, in_last, h);
    } else if (p.ranks == 4) {
      AdvanceTokens<4>(s, n, tokens, c, vectors, decay, in_last, h);
    } else {
      for (int64_t i = 0; i < tokens; ++i) {
        in_last(i);
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
