// Products in blocks of 32 (order=amx, N20) on panels of f32: the order of the
// matrix unit on any vector unit. A block's even steps are a chain, its odd
// ones another; steps are channels or keys.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_BLOCKS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_BLOCKS_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_BLOCKS_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "optimized/attention_tiles-inl.h"
#include "optimized/attention_work.h"
#include "optimized/simd/flush_scope.h"
#include "optimized/simd/registers-inl.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators of kRows rows and kVectors vectors, in registers.
template <class D, int kRows, int kVectors>
using Registers = hn::Vec<D>[kRows][kVectors];

// One chain: steps first, first + 2, .. below `end`, from +0.
template <int kRows, int kVectors, class D, class A>
HWY_INLINE void BlockChain(D df, const A& a, const float* HWY_RESTRICT b,
                           size_t b_stride, size_t first, size_t end,
                           Registers<D, kRows, kVectors>& acc) {
  const size_t lanes = hn::Lanes(df);
  constexpr int kSecond = kVectors - 1;  // offset 0 when there is none
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    acc[r][0] = hn::Zero(df);
    acc[r][kSecond] = hn::Zero(df);
  }
  HWY_UNROLL(4)
  for (size_t s = first; s < end; s += 2) {
    const auto b0 = hn::Load(df, b + s * b_stride);
    const auto b1 = hn::Load(df, b + s * b_stride + kSecond * lanes);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const auto x = hn::Set(df, a(s, r));
      acc[r][0] = hn::MulAdd(x, b0, acc[r][0]);
      if constexpr (kVectors == 2) acc[r][1] = hn::MulAdd(x, b1, acc[r][1]);
    }
  }
}

// acc [kRows][kVectors vectors], rows `acc_stride` apart, plus one block of the
// products of a(step, row) and b [steps][kVectors vectors], rows `b_stride`
// apart. kClear: from +0 instead.
template <int kRows, int kVectors, bool kClear, class D, class A>
HWY_INLINE void AddBlock(D df, const A& a, const float* HWY_RESTRICT b,
                         size_t b_stride, size_t begin, size_t end,
                         float* HWY_RESTRICT acc, size_t acc_stride) {
  const size_t lanes = hn::Lanes(df);
  Registers<D, kRows, kVectors> even, odd;
  BlockChain<kRows, kVectors>(df, a, b, b_stride, begin, end, even);
  BlockChain<kRows, kVectors>(df, a, b, b_stride, begin + 1, end, odd);
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      float* to = acc + r * acc_stride + static_cast<size_t>(v) * lanes;
      const auto before = kClear ? hn::Zero(df) : hn::Load(df, to);
      hn::Store(hn::Add(before, hn::Add(even[r][v], odd[r][v])), df, to);
    }
  }
}

// All steps, block by block. Exact under FlushScope: N20.
template <int kRows, int kVectors, bool kClear, class D, class A>
HWY_INLINE void BlockPanel(D df, const A& a, const float* HWY_RESTRICT b,
                           size_t b_stride, size_t steps,
                           float* HWY_RESTRICT acc, size_t acc_stride) {
  constexpr size_t kBlock = kProductBlock;
  // Whole blocks by themselves: a known number of steps saves a tenth.
  const auto whole = [&]<bool kFirst>(size_t begin) HWY_ATTR {
    const float* from = b + begin * b_stride;
    const auto at = [&](size_t s, int r) { return a(begin + s, r); };
    AddBlock<kRows, kVectors, kFirst>(df, at, from, b_stride, 0, kBlock, acc,
                                      acc_stride);
  };
  size_t begin = 0;
  if (kClear && steps >= kBlock) {
    whole.template operator()<true>(0);
    begin = kBlock;
  }
  for (; begin + kBlock <= steps; begin += kBlock) {
    whole.template operator()<false>(begin);
  }
  if (begin == steps) return;
  if (kClear && begin == 0) {
    AddBlock<kRows, kVectors, true>(df, a, b, b_stride, 0, steps, acc,
                                    acc_stride);
  } else {
    AddBlock<kRows, kVectors, false>(df, a, b, b_stride, begin, steps, acc,
                                     acc_stride);
  }
}

// Scores of kRows rows against one panel of keys; layouts as in ScorePanel.
template <int kRows, class D>
HWY_INLINE void ScoreBlocks(D df, const float* HWY_RESTRICT q,
                            const float* HWY_RESTRICT k, size_t channels,
                            float* HWY_RESTRICT scores, size_t stride) {
  const auto at = [q](size_t s, int r) { return q[s * kRowBlock + r]; };
  BlockPanel<kRows, 2, true>(df, at, k, 2 * hn::Lanes(df), channels, scores,
                             stride);
}

// Weighted values of kRows rows, layouts as in ValuePanel; p and v begin at a
// block's first key.
template <int kRows, int kVectors, class D>
HWY_INLINE void ValueBlocks(D df, const float* HWY_RESTRICT p, size_t p_stride,
                            const float* HWY_RESTRICT v, size_t v_stride,
                            size_t keys, float* HWY_RESTRICT acc,
                            size_t acc_stride) {
  const auto at = [=](size_t s, int r) { return p[r * p_stride + s]; };
  BlockPanel<kRows, kVectors, false>(df, at, v, v_stride, keys, acc,
                                     acc_stride);
}

// Scores of the block's rows -> worker.weights, from panels of f32.
template <class D>
void EmulatedScores(D df, const AttentionJob& job, const PackedTile& tile,
                    const Block& block, Worker& worker) {
  const FlushScope flush(job.plan->blocks == BlockForm::kFlushed);
  const auto panel = static_cast<size_t>(job.geometry.panel());
  const auto stride = static_cast<size_t>(job.weight_stride);
  const auto dim = static_cast<size_t>(job.problem->head_dim);
  const float* q = worker.q.data() + block.first_row * dim;
  float* weights = worker.weights.data();
  WithRows(static_cast<int64_t>(block.rows), [&]<int kRows>() HWY_ATTR {
    for (size_t key = block.begin / panel * panel; key < block.end;
         key += panel) {
      ScoreBlocks<kRows>(df, q, tile.k + key * dim, dim, weights + key, stride);
    }
  });
}

// worker.acc += weights times values, panel by panel.
template <class D>
void EmulatedValues(D df, const AttentionJob& job, const PackedTile& tile,
                    const Block& block, Worker& worker) {
  const FlushScope flush(job.plan->blocks == BlockForm::kFlushed);
  constexpr size_t kBlock = kProductBlock;
  const size_t lanes = hn::Lanes(df);
  const size_t panel = 2 * lanes;
  const auto values = static_cast<size_t>(job.padded_values);
  const auto stride = static_cast<size_t>(job.weight_stride);
  const auto tile_keys = static_cast<size_t>(job.plan->tile_keys);
  // Whole blocks: a neighbour that no row sees has weight +0.
  const size_t begin = block.begin / kBlock * kBlock;
  const size_t keys = (block.end + kBlock - 1) / kBlock * kBlock - begin;
  const float* p = worker.weights.data() + begin;
  float* acc = worker.acc.data() + block.first_row * values;
  WithRows(static_cast<int64_t>(block.rows), [&]<int kRows>() HWY_ATTR {
    for (size_t c = 0; c < values; c += panel) {
      const size_t width = std::min(panel, values - c);
      const float* v = tile.v + c * tile_keys + begin * width;
      if (width == panel) {
        ValueBlocks<kRows, 2>(df, p, stride, v, panel, keys, acc + c, values);
      } else {
        ValueBlocks<kRows, 1>(df, p, stride, v, lanes, keys, acc + c, values);
      }
    }
  });
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
