// Register-tiled products: scores of a block of rows against panels of keys,
// and weights against panels of values. Every accumulator is one output chain
// in the contract's order (N3, N11).
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_TILES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_TILES_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_TILES_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "optimized/attention_work.h"
#include "optimized/simd/packed_dot-inl.h"
#include "optimized/simd/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Loops over registers unroll by a plain 8, the largest row block: g++ 12 takes
// no template argument there. Loops over steps unroll by 4: a step of 6 x 2 is
// 20 instructions of work, and up to 9 more that count and address. These cost
// nothing on an idle core, and a tenth if the core's other thread is busy.

// A step of a product in f32: one multiply-add (N3).
struct F32Dot {
  using T = float;
  using Value = T;
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D df, const float* x) {
    return hn::Load(df, x);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> Set(D df, float x) {
    return hn::Set(df, x);
  }
  template <class D, class V>
  static HWY_INLINE V Add(D /*df*/, V acc, V a, V b) {
    return hn::MulAdd(a, b, acc);
  }
};

// The same on a pair of bf16 in a u32 (N5): by the instruction, which
// attention_native_dot.cc alone has, or by what it means.
template <bool kNative>
struct PairDot {
  using T = uint32_t;
  using Value = T;
  template <class D>
  using Pairs = hn::Vec<hn::RebindToUnsigned<D>>;
  template <class D>
  static HWY_INLINE Pairs<D> Load(D /*df*/, const uint32_t* x) {
    return hn::Load(hn::RebindToUnsigned<D>(), x);
  }
  template <class D>
  static HWY_INLINE Pairs<D> Set(D /*df*/, uint32_t x) {
    return hn::Set(hn::RebindToUnsigned<D>(), x);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> Add(D df, hn::Vec<D> acc, Pairs<D> a,
                                   Pairs<D> b) {
    if constexpr (kNative) return PackedDot(df, acc, a, b);
    return UnpackedDot(df, acc, a, b);
  }
};

// Scores of kRows rows against the first kVectors vectors of a panel of keys.
//   q [steps][kRowBlock] (the first kRows of each group), k [steps][2 vectors]
//   -> scores [kRows][kVectors vectors], rows `stride` apart; steps: channels,
//   or pairs of them. Exact: N3.
template <class Dot, int kRows, int kVectors, class D>
HWY_INLINE void ScorePanel(D df, const typename Dot::T* HWY_RESTRICT q,
                           const typename Dot::T* HWY_RESTRICT k, size_t steps,
                           float* HWY_RESTRICT scores, size_t stride) {
  static_assert(kVectors == 1 || kVectors == 2);
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(df);
  V acc0[kRows], acc1[kRows];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) acc0[r] = acc1[r] = hn::Zero(df);
  HWY_UNROLL(4)
  for (size_t d = 0; d < steps; ++d) {
    const auto k0 = Dot::Load(df, k);
    const auto k1 = Dot::Load(df, k + (kVectors - 1) * lanes);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const auto qr = Dot::Set(df, q[r]);
      acc0[r] = Dot::Add(df, acc0[r], qr, k0);
      if constexpr (kVectors == 2) acc1[r] = Dot::Add(df, acc1[r], qr, k1);
    }
    q += kRowBlock;
    k += 2 * lanes;
  }
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    hn::Store(acc0[r], df, scores + r * stride);
    if constexpr (kVectors == 2) {
      hn::Store(acc1[r], df, scores + r * stride + lanes);
    }
  }
}

// Adds `steps` rows of a panel of values, one after the other.
template <typename V>
struct RunOfValues {
  const V* HWY_RESTRICT first;
  size_t steps;
};

// Weighted values of kRows rows and one panel of kVectors vectors of channels,
// added to acc.
//   p [kRows][steps], with rows `p_stride` apart
//   v [steps][kVectors vectors] from channel `c` of the rows of some runs on,
//   with rows `v_stride` apart
//   acc [kRows][kVectors vectors], with rows `acc_stride` apart
// Steps are keys, or pairs of keys. Exact: N11.
template <class Dot, int kRows, int kVectors, class D>
HWY_INLINE void ValuePanel(D df, const typename Dot::T* HWY_RESTRICT p,
                           size_t p_stride,
                           const RunOfValues<typename Dot::Value>* runs,
                           size_t run_count, size_t c, size_t v_stride,
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
  for (size_t run = 0; run < run_count; ++run) {
    const typename Dot::Value* HWY_RESTRICT v = runs[run].first + c;
    const size_t steps = runs[run].steps;
    HWY_UNROLL(4)
    for (size_t j = 0; j < steps; ++j) {
      const auto v0 = Dot::Load(df, v);
      const auto v1 = Dot::Load(df, v + kSecond * lanes);
      HWY_UNROLL(8)
      for (int r = 0; r < kRows; ++r) {
        const auto pr = Dot::Set(df, p[r * p_stride + j]);
        acc0[r] = Dot::Add(df, acc0[r], pr, v0);
        if constexpr (kVectors == 2) acc1[r] = Dot::Add(df, acc1[r], pr, v1);
      }
      v += v_stride;
    }
    p += steps;
  }
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    hn::Store(acc0[r], df, acc + r * acc_stride);
    if constexpr (kVectors == 2) {
      hn::Store(acc1[r], df, acc + r * acc_stride + lanes);
    }
  }
}

// The same for one run.
template <class Dot, int kRows, int kVectors, class D>
HWY_INLINE void ValuePanel(D df, const typename Dot::T* HWY_RESTRICT p,
                           size_t p_stride,
                           const typename Dot::Value* HWY_RESTRICT v,
                           size_t v_stride, size_t steps,
                           float* HWY_RESTRICT acc, size_t acc_stride) {
  const RunOfValues<typename Dot::Value> run = {v, steps};
  ValuePanel<Dot, kRows, kVectors>(df, p, p_stride, &run, 1, 0, v_stride, acc,
                                   acc_stride);
}

// Calls tile.template operator()<R>() for the smallest compiled R >= rows; the
// added rows are padding that is not read.
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

// Lines to prefetch of each tensor with a panel. A worker that packs nothing
// has 0, because a test for it cost 1 % of the time of dense masks on AVX2. 256
// rows and keys of a document have about 700 panels of 16 in their lower half
// (d = 128), and 512 portions of keys in f32.
inline int64_t PortionsOf(size_t panel, const Worker& worker) {
  if (worker.kept.empty()) return 0;
  return CeilDiv(static_cast<int64_t>(panel), 16);
}

// Scores of the block's rows into worker.weights; q and k as Dot has them.
template <class Dot, class D>
void BlockScores(D df, const AttentionJob& job, const typename Dot::T* q,
                 const typename Dot::T* k, size_t steps, const Block& block,
                 Worker& worker) {
  const auto panel = static_cast<size_t>(job.geometry.panel());
  const auto stride = static_cast<size_t>(job.weight_stride);
  float* weights = worker.weights.data();
  q += block.first_row * steps;
  const int64_t portions = PortionsOf(panel, worker);
  WithRows(static_cast<int64_t>(block.rows), [&]<int kRows>() HWY_ATTR {
    for (size_t key = block.begin / panel * panel; key < block.end;
         key += panel) {
      if (portions > 0) worker.ahead.Ask(portions);
      const typename Dot::T* keys = k + key * steps;
      // Of the last panel half is enough if no row sees more: the other scores
      // are masked, or behind the slice, whatever stands there.
      if (block.end - key > panel / 2) {
        ScorePanel<Dot, kRows, 2>(df, q, keys, steps, weights + key, stride);
      } else {
        ScorePanel<Dot, kRows, 1>(df, q, keys, steps, weights + key, stride);
      }
    }
  });
}

// Weights times values, panel by panel; p and v as Dot has them, p from key
// 0 of the tile on. `per_step`: keys of a step.
template <class Dot, class D>
void BlockValues(D df, const AttentionJob& job, const typename Dot::T* p,
                 const typename Dot::T* v, size_t per_step, const Block& block,
                 Worker& worker) {
  const size_t lanes = hn::Lanes(df);
  const size_t panel = 2 * lanes;
  const auto values = static_cast<size_t>(job.padded_values);
  const size_t p_stride = static_cast<size_t>(job.weight_stride) / per_step;
  const size_t tile_steps = static_cast<size_t>(job.plan->tile_keys) / per_step;
  // Whole steps: a neighbour that no row sees has weight +0.
  const size_t begin = block.begin / per_step;
  const size_t steps = (block.end + per_step - 1) / per_step - begin;
  float* acc = worker.acc.data() + block.first_row * values;
  const int64_t portions = PortionsOf(panel, worker);
  WithRows(static_cast<int64_t>(block.rows), [&]<int kRows>() HWY_ATTR {
    for (size_t c = 0; c < values; c += panel) {
      if (portions > 0) worker.ahead.Ask(portions);
      const size_t width = std::min(panel, values - c);
      const typename Dot::T* from = v + c * tile_steps + begin * width;
      if (width == panel) {
        ValuePanel<Dot, kRows, 2>(df, p + begin, p_stride, from, 2 * lanes,
                                  steps, acc + c, values);
      } else {
        ValuePanel<Dot, kRows, 1>(df, p + begin, p_stride, from, lanes, steps,
                                  acc + c, values);
      }
    }
  });
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
