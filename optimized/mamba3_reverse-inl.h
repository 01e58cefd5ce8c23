// Steps 2 and 3 of N19: the states of a piece again, their cotangent and its
// products. The states and the cotangent have the n's in lanes, so that sums
// over p are chains of whole vectors; the cotangent a second time the channels.
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

// 4 of N15 for token i of the piece, kVectors vectors of n's from `at` on.
template <bool kOneRank, int kVectors>
HWY_INLINE void AdvanceColumns(const ReverseScratch& s,
                               const Mamba3ScanProblem& p, int64_t i,
                               int64_t at) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  const Mamba3Scratch& f = s.head;
  const auto alpha = hn::Set(d, s.alpha[i]);
  const float* HWY_RESTRICT before = s.x_rows + i * f.x_stride;
  const float* HWY_RESTRICT x = before + f.x_stride;
  const float* HWY_RESTRICT later = s.later + i * f.k_stride + at;
  const float* HWY_RESTRICT now = s.now + i * f.k_stride + at;
  const int64_t size = p.head_dim * s.row;
  const int64_t width = TileWidth();
  const float* HWY_RESTRICT from = s.states + i * size + at * p.head_dim;
  float* HWY_RESTRICT to = s.states + (i + 1) * size + at * p.head_dim;
  // Those of the first rank stay in registers.
  V weight_later[kVectors], weight_now[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    weight_later[v] = hn::Load(d, later + v * VectorLanes());
    weight_now[v] = hn::Load(d, now + v * VectorLanes());
  }
  for (int64_t c = 0; c < p.head_dim; ++c, from += width, to += width) {
    V h[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      h[v] = hn::Mul(alpha, hn::Load(d, from + v * VectorLanes()));
      h[v] = hn::MulAdd(weight_later[v], hn::Set(d, before[c]), h[v]);
      h[v] = hn::MulAdd(weight_now[v], hn::Set(d, x[c]), h[v]);
    }
    for (int64_t r = 1; r < RanksOf<kOneRank>(p); ++r) {
      const auto x_before = hn::Set(d, before[r * f.p_pad + c]);
      const auto x_now = hn::Set(d, x[r * f.p_pad + c]);
      for (int v = 0; v < kVectors; ++v) {
        const int64_t n = r * f.n_pad + v * VectorLanes();
        h[v] = hn::MulAdd(hn::Load(d, later + n), x_before, h[v]);
        h[v] = hn::MulAdd(hn::Load(d, now + n), x_now, h[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(h[v], d, to + v * VectorLanes());
    }
  }
}

// For all `count` tokens, a few n's at a time: they stay in L1.
template <bool kOneRank>
inline void AdvanceStatesT(const ReverseScratch& s, const Mamba3ScanProblem& p,
                           int64_t count) {
  ForVectors(
      p.state_dim,
      [&](int64_t n) HWY_ATTR {
        for (int64_t i = 0; i < count; ++i) {
          AdvanceColumns<kOneRank, 2>(s, p, i, n);
        }
      },
      [&](int64_t n) HWY_ATTR {
        for (int64_t i = 0; i < count; ++i) {
          AdvanceColumns<kOneRank, 1>(s, p, i, n);
        }
      });
}
inline void AdvanceStates(const ReverseScratch& s, const Mamba3ScanProblem& p,
                          int64_t count) {
  p.ranks == 1 ? AdvanceStatesT<true>(s, p, count)
               : AdvanceStatesT<false>(s, p, count);
}

// M of an element of `m` from the one behind it: the ranks' `row` in lanes
// times the ranks' value at `one`.
template <int kVectors>
HWY_INLINE void ReadBack(hn::Vec<VectorTag> decay, int64_t ranks,
                         const float* HWY_RESTRICT rows, int64_t row_stride,
                         const float* HWY_RESTRICT one, int64_t one_stride,
                         float* HWY_RESTRICT m,
                         hn::Vec<VectorTag> (&value)[kVectors]) {
  const VectorTag d;
  for (int v = 0; v < kVectors; ++v) {
    value[v] = hn::Mul(decay, hn::Load(d, m + v * VectorLanes()));
  }
  for (int64_t r = 0; r < ranks; ++r) {
    const auto factor = hn::Set(d, one[r * one_stride]);
    for (int v = 0; v < kVectors; ++v) {
      const auto row = hn::Load(d, rows + r * row_stride + v * VectorLanes());
      value[v] = hn::MulAdd(factor, row, value[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    hn::Store(value[v], d, m + v * VectorLanes());
  }
}

// 2 and the sums over p for rank r of token i of the piece, `j` of its block.
// Rank 0 makes M and sums M h'.
template <bool kOneRank, int kVectors>
HWY_INLINE void SumChannels(const ReverseScratch& s, const Mamba3ScanProblem& p,
                            int64_t i, int64_t j, int64_t r, int64_t at) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  const Mamba3Scratch& f = s.head;
  const auto decay = hn::Set(d, s.decay[j]);
  const float* HWY_RESTRICT d_o_rows = s.d_o + j * f.x_stride;
  const float* HWY_RESTRICT q = s.q + i * f.k_stride + at;
  const float* HWY_RESTRICT d_o = d_o_rows + r * f.p_pad;
  const float* HWY_RESTRICT before = s.x_rows + i * f.x_stride + r * f.p_pad;
  const float* HWY_RESTRICT x = before + f.x_stride;
  const int64_t size = p.head_dim * s.row;
  const float* HWY_RESTRICT h_before = s.states + i * size + at * p.head_dim;
  const float* HWY_RESTRICT h = h_before + size;
  float* HWY_RESTRICT m = s.mt + at * p.head_dim;
  V of_k[kVectors], of_k_before[kVectors], of_state[kVectors], d_q[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    of_k[v] = of_k_before[v] = of_state[v] = d_q[v] = hn::Zero(d);
  }
  for (int64_t c = 0; c < p.head_dim; ++c) {
    const int64_t element = c * TileWidth();
    V value[kVectors];
    if (kOneRank || r == 0) {
      ReadBack<kVectors>(decay, RanksOf<kOneRank>(p), q, f.n_pad, d_o_rows + c,
                         f.p_pad, m + element, value);
    } else {
      for (int v = 0; v < kVectors; ++v) {
        value[v] = hn::Load(d, m + element + v * VectorLanes());
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      const int64_t lane = element + v * VectorLanes();
      of_k[v] = hn::MulAdd(value[v], hn::Set(d, x[c]), of_k[v]);
      of_k_before[v] = hn::MulAdd(value[v], hn::Set(d, before[c]),  //
                                  of_k_before[v]);
      d_q[v] = hn::MulAdd(hn::Load(d, h + lane), hn::Set(d, d_o[c]), d_q[v]);
      if (kOneRank || r == 0) {
        of_state[v] =
            hn::MulAdd(value[v], hn::Load(d, h_before + lane), of_state[v]);
      }
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    const int64_t lane = at + v * VectorLanes();
    const int64_t n = j * f.k_stride + r * f.n_pad + lane;
    hn::Store(of_k[v], d, s.of_k + n);
    hn::Store(of_k_before[v], d, s.of_k_before + n);
    hn::Store(d_q[v], d, s.d_q + n);
    if (kOneRank || r == 0)
      hn::Store(of_state[v], d, s.of_state + j * f.n_pad + lane);
  }
}

// 2 and the sums over n for rank r of token i of the piece, `j` of its block.
// Rank 0 makes M.
template <bool kOneRank, int kVectors>
HWY_INLINE void SumStates(const ReverseScratch& s, const Mamba3ScanProblem& p,
                          int64_t i, int64_t j, int64_t r, int64_t at) {
  const VectorTag d;
  using V = hn::Vec<VectorTag>;
  const Mamba3Scratch& f = s.head;
  const auto decay = hn::Set(d, s.decay[j]);
  const float* HWY_RESTRICT d_o_rows = s.d_o + j * f.x_stride;
  const float* HWY_RESTRICT q = s.q + i * f.k_stride;
  const float* HWY_RESTRICT before = s.k + i * f.k_stride + r * f.n_pad;
  const float* HWY_RESTRICT k = before + f.k_stride;
  float* HWY_RESTRICT m = s.m + at * p.state_dim;
  V of_x[kVectors], of_x_before[kVectors];
  for (int v = 0; v < kVectors; ++v) of_x[v] = of_x_before[v] = hn::Zero(d);
  for (int64_t n = 0; n < p.state_dim; ++n, m += TileWidth()) {
    V value[kVectors];
    if (kOneRank || r == 0) {
      ReadBack<kVectors>(decay, RanksOf<kOneRank>(p), d_o_rows + at, f.p_pad,
                         q + n, f.n_pad, m, value);
    } else {
      for (int v = 0; v < kVectors; ++v) {
        value[v] = hn::Load(d, m + v * VectorLanes());
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      of_x[v] = hn::MulAdd(value[v], hn::Set(d, k[n]), of_x[v]);
      of_x_before[v] =
          hn::MulAdd(value[v], hn::Set(d, before[n]), of_x_before[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    const int64_t c = j * f.x_stride + r * f.p_pad + at + v * VectorLanes();
    hn::Store(of_x[v], d, s.of_x + c);
    hn::Store(of_x_before[v], d, s.of_x_before + c);
  }
}

// Of a block of tokens, first .. end - 1 of the piece, backwards on a few n's
// or channels at a time: their part of M stays in L1.
template <bool kOneRank, int kVectors>
HWY_INLINE void SumBlockChannels(const ReverseScratch& s,
                                 const Mamba3ScanProblem& p, int64_t first,
                                 int64_t end, int64_t at) {
  for (int64_t i = end; i-- > first;) {
    for (int64_t r = 0; r < RanksOf<kOneRank>(p); ++r) {
      SumChannels<kOneRank, kVectors>(s, p, i, i - first, r, at);
    }
  }
}
template <bool kOneRank, int kVectors>
HWY_INLINE void SumBlockStates(const ReverseScratch& s,
                               const Mamba3ScanProblem& p, int64_t first,
                               int64_t end, int64_t at) {
  for (int64_t i = end; i-- > first;) {
    for (int64_t r = 0; r < RanksOf<kOneRank>(p); ++r) {
      SumStates<kOneRank, kVectors>(s, p, i, i - first, r, at);
    }
  }
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
