// Steps 2 and 3 of N19: the states again, their cotangent and its products. The
// states and the cotangent have the n's in lanes, so that sums over p are
// chains of whole vectors; the cotangent a second time the channels.
#if defined(LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_INL_H_
#undef LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "optimized/mamba3_reverse_work.h"
#include "optimized/mamba3_rows-inl.h"
#include "optimized/mamba3_scan-inl.h"
#include "reference/contract/mamba3_scan.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The states, and the cotangent, lie in tiles of two vectors: [lane / width,
// other, width], so that what is worked on lies together. Where an element is,
// `others` the extent of the axis that is not in lanes.
inline int64_t TilePlace(int64_t lane, int64_t other, int64_t others) {
  const int64_t width = TileWidth();
  return lane / width * width * others + other * width + lane % width;
}

// Calls `two(at)` for pairs of vectors of 0 .. count, then `one(at)` for what
// is left.
template <class Two, class One>
HWY_INLINE void ForVectors(int64_t count, const Two& two, const One& one) {
  int64_t at = 0;
  for (; at + VectorLanes() < count; at += 2 * VectorLanes()) two(at);
  if (at < count) one(at);
}

// The ranks of the problem. Where it is 1, the number is a constant for the
// compiler, so terms that do not depend on the inner loop stay in registers.
template <bool kOneRank>
HWY_INLINE int64_t RanksOf(const Mamba3ScanProblem& p) {
  return kOneRank ? 1 : p.ranks;
}

// Tokens at a time: two read and write the states and M half as often.
template <bool kOneRank>
inline constexpr int kReverseTokens = kOneRank ? kTokensOf<1> : 1;

// Where the state before block `block` of the piece is, or the one behind the
// last block: [row / width, p, width] of tiles.
inline float* StateBefore(const ReverseScratch& s, const Mamba3ScanProblem& p,
                          int64_t block) {
  if (block == 0) return s.before_piece;
  return s.before_blocks + (block - 1) * p.head_dim * s.row;
}

// 4 of N15 for kTokens tokens of the piece from i on, kVectors vectors of n's
// from `at` on: from `from` [p, width] to `to`, `step` elements on for the next
// token. They may be the same.
template <bool kOneRank, int kVectors, int kTokens>
HWY_INLINE void AdvanceColumns(const ReverseScratch& s,
                               const Mamba3ScanProblem& p, int64_t i,
                               int64_t at, const float* from, float* to,
                               int64_t step) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  const Mamba3Scratch& f = s.head;
  const float* HWY_RESTRICT x = s.x_rows + i * f.x_stride;
  const float* HWY_RESTRICT later = s.later + i * f.k_stride + at;
  const float* HWY_RESTRICT now = s.now + i * f.k_stride + at;
  const int64_t width = TileWidth();
  // Those of the first rank stay in registers.
  V alpha[kTokens], of_later[kTokens][kVectors], of_now[kTokens][kVectors];
  for (int t = 0; t < kTokens; ++t) {
    alpha[t] = hn::Set(d, s.alpha[i + t]);
    for (int v = 0; v < kVectors; ++v) {
      const int64_t n = t * f.k_stride + v * VectorLanes();
      of_later[t][v] = hn::Load(d, later + n);
      of_now[t][v] = hn::Load(d, now + n);
    }
  }
  for (int64_t c = 0; c < p.head_dim; ++c, from += width, to += width) {
    V h[kVectors], rows[kTokens + 1];
    for (int v = 0; v < kVectors; ++v) {
      h[v] = hn::Load(d, from + v * VectorLanes());
    }
    for (int t = 0; t <= kTokens; ++t) {
      rows[t] = hn::Set(d, x[t * f.x_stride + c]);
    }
    for (int t = 0; t < kTokens; ++t) {
      for (int v = 0; v < kVectors; ++v) {
        h[v] = hn::Mul(alpha[t], h[v]);
        h[v] = hn::MulAdd(of_later[t][v], rows[t], h[v]);
        h[v] = hn::MulAdd(of_now[t][v], rows[t + 1], h[v]);
      }
      for (int64_t r = 1; r < RanksOf<kOneRank>(p); ++r) {
        const float* of_rank = x + t * f.x_stride + r * f.p_pad + c;
        const auto x_before = hn::Set(d, of_rank[0]);
        const auto x_now = hn::Set(d, of_rank[f.x_stride]);
        for (int v = 0; v < kVectors; ++v) {
          const int64_t n = t * f.k_stride + r * f.n_pad + v * VectorLanes();
          h[v] = hn::MulAdd(hn::Load(d, later + n), x_before, h[v]);
          h[v] = hn::MulAdd(hn::Load(d, now + n), x_now, h[v]);
        }
      }
      for (int v = 0; v < kVectors; ++v) {
        hn::Store(h[v], d, to + t * step + v * VectorLanes());
      }
    }
  }
}

// The same for tokens first .. end - 1, some at a time. `state(i)` is where the
// state before token i is; those behind tokens that come at a time are `step`
// elements apart.
template <bool kOneRank, int kVectors, class State>
HWY_INLINE void AdvanceColumnsOf(const ReverseScratch& s,
                                 const Mamba3ScanProblem& p, int64_t first,
                                 int64_t end, int64_t at, int64_t step,
                                 const State& state) {
  constexpr int kAll = kReverseTokens<kOneRank>;
  int64_t i = first;
  for (; i + kAll <= end; i += kAll) {
    AdvanceColumns<kOneRank, kVectors, kAll>(s, p, i, at, state(i),
                                             state(i + 1), step);
  }
  for (; i < end; ++i) {
    AdvanceColumns<kOneRank, kVectors, 1>(s, p, i, at, state(i), state(i + 1),
                                          step);
  }
}

// For the first `count` tokens of the piece, a few n's at a time: they stay in
// L1. `state(i)` is where the state before token i is, as StateBefore; the
// tokens of a block share the place behind them.
template <bool kOneRank, class State>
inline void AdvanceStatesT(const ReverseScratch& s, const Mamba3ScanProblem& p,
                           int64_t count, const State& state) {
  const auto advance = [&]<int kVectors>(int64_t n) HWY_ATTR {
    AdvanceColumnsOf<kOneRank, kVectors>(s, p, 0, count, n, 0, [&](int64_t i) {
      return state(i) + n * p.head_dim;
    });
  };
  ForVectors(
      p.state_dim,
      [&](int64_t n) HWY_ATTR { advance.template operator()<2>(n); },
      [&](int64_t n) HWY_ATTR { advance.template operator()<1>(n); });
}
template <class State>
inline void AdvanceStates(const ReverseScratch& s, const Mamba3ScanProblem& p,
                          int64_t count, const State& state) {
  p.ranks == 1 ? AdvanceStatesT<true>(s, p, count, state)
               : AdvanceStatesT<false>(s, p, count, state);
}

// M of an element from the one behind it: the ranks' `row` in lanes times the
// ranks' value at `one`.
template <int kVectors>
HWY_INLINE void ReadBack(hn::Vec<VectorTag> decay, int64_t ranks,
                         const float* HWY_RESTRICT rows, int64_t row_stride,
                         const float* HWY_RESTRICT one, int64_t one_stride,
                         hn::Vec<VectorTag> (&value)[kVectors]) {
  const VectorTag d;
  for (int v = 0; v < kVectors; ++v) value[v] = hn::Mul(decay, value[v]);
  for (int64_t r = 0; r < ranks; ++r) {
    const auto factor = hn::Set(d, one[r * one_stride]);
    for (int v = 0; v < kVectors; ++v) {
      const auto row = hn::Load(d, rows + r * row_stride + v * VectorLanes());
      value[v] = hn::MulAdd(factor, row, value[v]);
    }
  }
}

// Sums over p for kTokens tokens backwards.
template <int kVectors, int kTokens>
struct ChannelSums {
  using V = hn::Vec<VectorTag>;
  V of_k[kTokens][kVectors], of_k_before[kTokens][kVectors];
  V of_state[kTokens][kVectors], d_q[kTokens][kVectors];

  // Zeros. Without it the compiler writes a constructor for the baseline's CPU.
  HWY_INLINE ChannelSums() {
    const auto zero = hn::Zero(VectorTag());
    for (int t = 0; t < kTokens; ++t) {
      for (int v = 0; v < kVectors; ++v) {
        of_k[t][v] = of_k_before[t][v] = of_state[t][v] = d_q[t][v] = zero;
      }
    }
  }
  // Of rank r and n's from `at` on, for tokens from j of the block on.
  HWY_INLINE void Store(const ReverseScratch& s, int64_t j, int64_t r,
                        int64_t at, bool state) const {
    const VectorTag d;
    const Mamba3Scratch& f = s.head;
    for (int t = 0; t < kTokens; ++t, --j) {
      for (int v = 0; v < kVectors; ++v) {
        const int64_t lane = at + v * VectorLanes();
        const int64_t n = j * f.k_stride + r * f.n_pad + lane;
        hn::Store(of_k[t][v], d, s.of_k + n);
        hn::Store(of_k_before[t][v], d, s.of_k_before + n);
        hn::Store(d_q[t][v], d, s.d_q + n);
        if (!state) continue;
        hn::Store(of_state[t][v], d, s.of_state + j * f.n_pad + lane);
      }
    }
  }
};

// 2 and the sums over p for rank r of kTokens tokens backwards from i of the
// piece, `j` of its block, on. `state(i)` is the state before token i
// [p, width]. Rank 0 makes M and sums M h'.
template <bool kOneRank, int kVectors, int kTokens, class State>
HWY_INLINE void SumChannels(const ReverseScratch& s, const Mamba3ScanProblem& p,
                            int64_t i, int64_t j, int64_t r, int64_t at,
                            const State& state) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  const Mamba3Scratch& f = s.head;
  const bool makes = kOneRank || r == 0;
  const float* HWY_RESTRICT d_o_rows = s.d_o + j * f.x_stride;
  const float* HWY_RESTRICT q = s.q + i * f.k_stride + at;
  const float* HWY_RESTRICT x = s.x_rows + (i + 1) * f.x_stride + r * f.p_pad;
  float* HWY_RESTRICT m = s.mt + at * p.head_dim;
  const float* h[kTokens + 1];  // behind each token, and before the last one
  V decay[kTokens];
  ChannelSums<kVectors, kTokens> sums;
  for (int t = 0; t <= kTokens; ++t) h[t] = state(i + 1 - t);
  for (int t = 0; t < kTokens; ++t) decay[t] = hn::Set(d, s.decay[j - t]);
  for (int64_t c = 0; c < p.head_dim; ++c, m += TileWidth()) {
    V value[kVectors], rows[kTokens + 1];
    for (int v = 0; v < kVectors; ++v) {
      value[v] = hn::Load(d, m + v * VectorLanes());
    }
    for (int t = 0; t <= kTokens; ++t) {
      rows[t] = hn::Set(d, x[c - t * f.x_stride]);
    }
    for (int t = 0; t < kTokens; ++t) {
      const float* d_o = d_o_rows - t * f.x_stride + c;
      if (makes) {
        ReadBack<kVectors>(decay[t], RanksOf<kOneRank>(p), q - t * f.k_stride,
                           f.n_pad, d_o, f.p_pad, value);
      }
      const auto of_rank = hn::Set(d, d_o[r * f.p_pad]);
      for (int v = 0; v < kVectors; ++v) {
        const int64_t lane = c * TileWidth() + v * VectorLanes();
        auto& [of_k, of_k_before, of_state, d_q] = sums;
        of_k[t][v] = hn::MulAdd(value[v], rows[t], of_k[t][v]);
        of_k_before[t][v] =
            hn::MulAdd(value[v], rows[t + 1], of_k_before[t][v]);
        d_q[t][v] = hn::MulAdd(hn::Load(d, h[t] + lane), of_rank, d_q[t][v]);
        if (!makes) continue;
        of_state[t][v] =
            hn::MulAdd(value[v], hn::Load(d, h[t + 1] + lane), of_state[t][v]);
      }
    }
    for (int v = 0; makes && v < kVectors; ++v) {
      hn::Store(value[v], d, m + v * VectorLanes());
    }
  }
  sums.Store(s, j, r, at, makes);
}

// 2 and the sums over n for rank r of kTokens tokens backwards from i of the
// piece, `j` of its block, on. Rank 0 makes M.
template <bool kOneRank, int kVectors, int kTokens>
HWY_INLINE void SumStates(const ReverseScratch& s, const Mamba3ScanProblem& p,
                          int64_t i, int64_t j, int64_t r, int64_t at) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  const Mamba3Scratch& f = s.head;
  const bool makes = kOneRank || r == 0;
  const float* HWY_RESTRICT d_o_rows = s.d_o + j * f.x_stride + at;
  const float* HWY_RESTRICT q = s.q + i * f.k_stride;
  const float* HWY_RESTRICT k = s.k + (i + 1) * f.k_stride + r * f.n_pad;
  float* HWY_RESTRICT m = s.m + at * p.state_dim;
  V decay[kTokens], of_x[kTokens][kVectors], of_x_before[kTokens][kVectors];
  for (int t = 0; t < kTokens; ++t) {
    decay[t] = hn::Set(d, s.decay[j - t]);
    for (int v = 0; v < kVectors; ++v) {
      of_x[t][v] = of_x_before[t][v] = hn::Zero(d);
    }
  }
  for (int64_t n = 0; n < p.state_dim; ++n, m += TileWidth()) {
    V value[kVectors], rows[kTokens + 1];
    for (int v = 0; v < kVectors; ++v) {
      value[v] = hn::Load(d, m + v * VectorLanes());
    }
    for (int t = 0; t <= kTokens; ++t) {
      rows[t] = hn::Set(d, k[n - t * f.k_stride]);
    }
    for (int t = 0; t < kTokens; ++t) {
      if (makes) {
        ReadBack<kVectors>(decay[t], RanksOf<kOneRank>(p),
                           d_o_rows - t * f.x_stride, f.p_pad,
                           q - t * f.k_stride + n, f.n_pad, value);
      }
      for (int v = 0; v < kVectors; ++v) {
        of_x[t][v] = hn::MulAdd(value[v], rows[t], of_x[t][v]);
        of_x_before[t][v] =
            hn::MulAdd(value[v], rows[t + 1], of_x_before[t][v]);
      }
    }
    for (int v = 0; makes && v < kVectors; ++v) {
      hn::Store(value[v], d, m + v * VectorLanes());
    }
  }
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t c =
          (j - t) * f.x_stride + r * f.p_pad + at + v * VectorLanes();
      hn::Store(of_x[t][v], d, s.of_x + c);
      hn::Store(of_x_before[t][v], d, s.of_x_before + c);
    }
  }
}

// Calls many(i), or one(i), for tokens end - 1 .. first, kTokens or 1 at a
// time.
template <int kTokens, class Many, class One>
HWY_INLINE void ForTokensBack(int64_t first, int64_t end, const Many& many,
                              const One& one) {
  int64_t i = end;
  for (; i - kTokens >= first; i -= kTokens) many(i - 1);
  for (; i > first; --i) one(i - 1);
}

// Of a block of tokens, first .. end - 1 of the piece, on a few n's or channels
// at a time: first the states behind each of the tokens, then backwards. They
// and their part of M stay in L1.
template <bool kOneRank, int kVectors>
HWY_INLINE void SumBlockChannels(const ReverseScratch& s,
                                 const Mamba3ScanProblem& p, int64_t first,
                                 int64_t end, int64_t at) {
  const int64_t size = p.head_dim * TileWidth();
  float* start = StateBefore(s, p, first / kReverseBlock) + at * p.head_dim;
  const auto state = [&](int64_t i) {
    return i == first ? start : s.columns + (i - first - 1) * size;
  };
  AdvanceColumnsOf<kOneRank, kVectors>(s, p, first, end, at, size, state);
  constexpr int kTokens = kReverseTokens<kOneRank>;
  const auto sum = [&]<int kOf>(int64_t i) HWY_ATTR {
    for (int64_t r = 0; r < RanksOf<kOneRank>(p); ++r) {
      SumChannels<kOneRank, kVectors, kOf>(s, p, i, i - first, r, at, state);
    }
  };
  ForTokensBack<kTokens>(
      first, end,
      [&](int64_t i) HWY_ATTR { sum.template operator()<kTokens>(i); },
      [&](int64_t i) HWY_ATTR { sum.template operator()<1>(i); });
}
template <bool kOneRank, int kVectors>
HWY_INLINE void SumBlockStates(const ReverseScratch& s,
                               const Mamba3ScanProblem& p, int64_t first,
                               int64_t end, int64_t at) {
  constexpr int kTokens = kReverseTokens<kOneRank>;
  const auto sum = [&]<int kOf>(int64_t i) HWY_ATTR {
    for (int64_t r = 0; r < RanksOf<kOneRank>(p); ++r) {
      SumStates<kOneRank, kVectors, kOf>(s, p, i, i - first, r, at);
    }
  };
  ForTokensBack<kTokens>(
      first, end,
      [&](int64_t i) HWY_ATTR { sum.template operator()<kTokens>(i); },
      [&](int64_t i) HWY_ATTR { sum.template operator()<1>(i); });
}

// 2 and 3 for a block of tokens.
template <bool kOneRank>
inline void ReverseBlockT(const ReverseScratch& s, const Mamba3ScanProblem& p,
                          int64_t first, int64_t end) {
  ForVectors(
      p.state_dim,
      [&](int64_t n)
          HWY_ATTR { SumBlockChannels<kOneRank, 2>(s, p, first, end, n); },
      [&](int64_t n)
          HWY_ATTR { SumBlockChannels<kOneRank, 1>(s, p, first, end, n); });
  ForVectors(
      p.head_dim,
      [&](int64_t c)
          HWY_ATTR { SumBlockStates<kOneRank, 2>(s, p, first, end, c); },
      [&](int64_t c)
          HWY_ATTR { SumBlockStates<kOneRank, 1>(s, p, first, end, c); });
}
inline void ReverseBlock(const ReverseScratch& s, const Mamba3ScanProblem& p,
                         int64_t first, int64_t end) {
  p.ranks == 1 ? ReverseBlockT<true>(s, p, first, end)
               : ReverseBlockT<false>(s, p, first, end);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
