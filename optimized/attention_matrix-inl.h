// Products of order=amx (N20) by the matrix unit: which rows, panels and sums
// meet. Keys and values lie as attention_pairs-inl.h packs them, queries and
// weights row by row. Pairs of channels hold the even one in the upper half,
// pairs of keys in the lower one.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_MATRIX_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_MATRIX_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_MATRIX_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_MATRIX_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hwy/highway.h"
#include "optimized/attention_block-inl.h"
#include "optimized/attention_weights-inl.h"
#include "optimized/attention_work.h"
#include "optimized/matrix_unit.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/packed_dot-inl.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// NearWeights, in one go with the pairs; row.weights stay scores.
//   Requires: vectors of kStripes lanes.
template <bool kMasked, class D>
HWY_INLINE void NearWeightPairs(D df, int offset, const RowSlice& row,
                                uint32_t* HWY_RESTRICT pairs) {
  constexpr size_t kStep = 2 * kStripes;
  const auto magic = hn::Set(df, kRoundMagic);
  const auto weight = [&](size_t j) HWY_ATTR {
    const auto u = hn::Load(df, row.weights + j);
    const auto sum = hn::Add(u, magic);
    const auto g = Exp2Core(df, hn::Sub(u, hn::Sub(sum, magic)));
    const auto p = hn::Mul(g, PowerOfTwoFromSum(df, sum, offset));
    if constexpr (!kMasked) return p;
    return hn::IfThenElseZero(VisibleFrom(df, row.bits, j), p);
  };
  auto stripes = hn::Load(df, row.stripes);
  for (size_t j = row.begin; j < row.end; j += kStep) {
    const auto first = weight(j);
    const auto second = weight(j + kStripes);
    stripes = hn::Add(hn::Add(stripes, first), second);
    StoreKeyPairs(df, RoundToBf16LaneCore(df, first),
                  RoundToBf16LaneCore(df, second), pairs + j / 2);
  }
  hn::Store(stripes, df, row.stripes);
}

// The same of weights that are formed already.
template <class D>
HWY_INLINE void PackWeightPairs(D df, const RowSlice& row,
                                uint32_t* HWY_RESTRICT pairs) {
  for (size_t j = row.begin; j < row.end; j += 2 * kStripes) {
    StoreKeyPairs(df, hn::Load(df, row.weights + j),
                  hn::Load(df, row.weights + j + kStripes), pairs + j / 2);
  }
}

// The next blocks of rows, from number *next on, that see keys of a tile.
inline std::span<const Block> BlocksThatSee(
    const AttentionJob& job, const Worker& worker, size_t* next,
    std::array<Block, kMatrixBlocks>& blocks) {
  const auto row_block = static_cast<size_t>(job.geometry.row_block);
  size_t count = 0;
  for (; count < kMatrixBlocks && *next < worker.seen.size(); ++*next) {
    const Range seen = worker.seen[*next];
    if (seen.end == 0) continue;
    Block& block = blocks[count];
    block.first_row = *next * row_block;
    block.weight_row = count++ * row_block;
    block.rows = std::min(row_block, worker.rows.size() - block.first_row);
    block.begin = static_cast<size_t>(seen.begin);
    block.end = static_cast<size_t>(seen.end);
  }
  return {blocks.data(), count};
}

// Scores -> worker.weights. Keys outside, rows inside: 32 keys stay in the
// first cache while all rows meet them.
inline void MatrixScores(const AttentionJob& job, const PackedTile& tile,
                         std::span<const Block> blocks, Worker& worker) {
  const auto pairs = static_cast<size_t>(job.head_pairs());
  const auto stride = static_cast<size_t>(job.weight_stride);
  MatrixProduct product;
  product.a_stride = pairs;
  product.b_stride = kMatrixColumns;
  product.blocks = pairs / kMatrixPairs;
  product.c_stride = stride;
  product.clear = true;
  const auto tile_keys = static_cast<size_t>(job.padded_keys);
  for (size_t key = 0; key < tile_keys; key += kMatrixColumns) {
    product.b = tile.k_pairs + key * pairs;
    for (const Block& block : blocks) {
      if (key + kMatrixColumns <= block.begin || key >= block.end) continue;
      product.a = worker.q_pairs.data() + block.first_row * pairs;
      product.c = worker.weights.data() + block.weight_row * stride + key;
      product.rows_16 = block.rows <= kMatrixRows / 2;
      Multiply(product);
    }
  }
}

// worker.acc += weights times values; a panel of channels stays in the first
// cache while all rows meet it.
inline void MatrixValues(const AttentionJob& job, const PackedTile& tile,
                         std::span<const Block> blocks, Worker& worker) {
  constexpr size_t kBlock = kProductBlock;
  const auto values = static_cast<size_t>(job.padded_values);
  const auto tile_pairs = static_cast<size_t>(job.plan->tile_keys) / 2;
  MatrixProduct product;
  product.a_stride = static_cast<size_t>(job.weight_stride) / 2;
  product.c_stride = values;
  for (size_t c = 0; c < values; c += kMatrixColumns) {
    const size_t width = std::min(kMatrixColumns, values - c);
    product.b_stride = width;
    product.columns_16 = width < kMatrixColumns;
    for (const Block& block : blocks) {
      const size_t begin = block.begin / kBlock;
      const size_t first = begin * kMatrixPairs;
      product.a = worker.weight_pairs.data() +
                  block.weight_row * product.a_stride + first;
      product.b = tile.v_pairs + c * tile_pairs + first * width;
      product.blocks = (block.end + kBlock - 1) / kBlock - begin;
      product.c = worker.acc.data() + block.first_row * values + c;
      product.rows_16 = block.rows <= kMatrixRows / 2;
      Multiply(product);
    }
  }
}

// Scores -> weights of the numerator as pairs, row by row: a row of scores
// stays in the first cache.
template <bool kMasked, class D>
void MatrixWeights(D df, const AttentionJob& job, const Block& block,
                   Worker& worker) {
  const auto values = static_cast<size_t>(job.padded_values);
  const auto stride = static_cast<size_t>(job.weight_stride);
  for (size_t r = 0; r < block.rows; ++r) {
    RowState& row = worker.rows[block.first_row + r];
    const RowSlice slice = SliceOf<kMasked>(job, block, r, worker);
    uint32_t* pairs =
        worker.weight_pairs.data() + (block.weight_row + r) * stride / 2;
    RowScores<kMasked>(df, job, slice,
                       worker.acc.data() + (block.first_row + r) * values, row);
    if (row.fixed || NearWeightsAreExact(row.n_min, row.m)) {
      const float offset = row.fixed ? 0.0f : kWeightShift - row.m;
      NearWeightPairs<kMasked>(df, static_cast<int>(offset), slice, pairs);
    } else {
      OnlineWeights(df, row.m, slice);
      PackWeightPairs(df, slice, pairs);
    }
  }
}

// All rows against the tile, by the matrix unit.
template <bool kMasked, class D>
void MatrixTimesTile(D df, const AttentionJob& job, const PackedTile& tile,
                     Worker& worker) {
  std::array<Block, kMatrixBlocks> storage;
  // Few enough blocks at a time that their weights stay in the second cache.
  for (size_t next = 0; next < worker.seen.size();) {
    const std::span<const Block> blocks =
        BlocksThatSee(job, worker, &next, storage);
    MatrixScores(job, tile, blocks, worker);
    for (const Block& block : blocks) {
      MatrixWeights<kMasked>(df, job, block, worker);
    }
    MatrixValues(job, tile, blocks, worker);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
