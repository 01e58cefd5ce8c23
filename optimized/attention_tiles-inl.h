// Register-tiled products: scores of a block of rows against a panel of keys,
// and weights against a panel of values. Every accumulator is one output chain
// in the contract's order (N3, N11).
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_TILES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_TILES_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_TILES_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_TILES_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "optimized/simd/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Loops over registers unroll by a plain 8, the largest row block: g++ 12 takes
// no template argument there.

// Scores of kRows rows against one panel of keys.
//   q [head_dim][kRowBlock] (the first kRows of each group), k [head_dim][2
//   vectors] -> scores [kRows][2 vectors], rows `stride` apart. Exact: N3.
template <int kRows, class D>
HWY_INLINE void ScorePanel(D df, const float* HWY_RESTRICT q,
                           const float* HWY_RESTRICT k, size_t head_dim,
                           float* HWY_RESTRICT scores, size_t stride) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(df);
  V acc0[kRows], acc1[kRows];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) acc0[r] = acc1[r] = hn::Zero(df);
  for (size_t d = 0; d < head_dim; ++d) {
    const V k0 = hn::Load(df, k);
    const V k1 = hn::Load(df, k + lanes);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const V qr = hn::Set(df, q[r]);
      acc0[r] = hn::MulAdd(qr, k0, acc0[r]);
      acc1[r] = hn::MulAdd(qr, k1, acc1[r]);
    }
    q += kRowBlock;
    k += 2 * lanes;
  }
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    hn::Store(acc0[r], df, scores + r * stride);
    hn::Store(acc1[r], df, scores + r * stride + lanes);
  }
}

// Weighted values of kRows rows, `keys` keys and one panel of kVectors
// vectors of channels, added to acc.
//   p [kRows][keys], rows `p_stride` apart; v [keys][kVectors vectors];
//   acc [kRows][kVectors vectors], rows `acc_stride` apart. Exact: N11.
template <int kRows, int kVectors, class D>
HWY_INLINE void ValuePanel(D df, const float* HWY_RESTRICT p, size_t p_stride,
                           const float* HWY_RESTRICT v, size_t keys,
                           float* HWY_RESTRICT acc, size_t acc_stride) {
  static_assert(kVectors == 1 || kVectors == 2);
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(df);
  constexpr int kSecond = kVectors - 1;  // offset 0 when there is none
  V acc0[kRows], acc1[kRows];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    acc0[r] = hn::Load(df, acc + r * acc_stride);
    acc1[r] = hn::Load(df, acc + r * acc_stride + kSecond * lanes);
  }
  for (size_t j = 0; j < keys; ++j) {
    const V v0 = hn::Load(df, v);
    const V v1 = hn::Load(df, v + kSecond * lanes);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const V pr = hn::Set(df, p[r * p_stride + j]);
      acc0[r] = hn::MulAdd(pr, v0, acc0[r]);
      if constexpr (kVectors == 2) acc1[r] = hn::MulAdd(pr, v1, acc1[r]);
    }
    v += kVectors * lanes;
  }
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    hn::Store(acc0[r], df, acc + r * acc_stride);
    if constexpr (kVectors == 2) {
      hn::Store(acc1[r], df, acc + r * acc_stride + lanes);
    }
  }
}

// Calls tile.template operator()<R>() for the smallest compiled R >= rows;
// the rows added are padding that nobody reads.
//   Requires: 1 <= rows <= kRowBlock.
template <class Tile>
HWY_INLINE void WithRows(int64_t rows, const Tile& tile) {
  if (rows == 1) {
    tile.template operator()<1>();
  } else if (rows == 2) {
    tile.template operator()<2>();
  } else if (rows <= 4) {
    tile.template operator()<4>();
  } else {
    tile.template operator()<kRowBlock>();
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
