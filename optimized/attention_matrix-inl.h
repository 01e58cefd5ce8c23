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
#include "optimized/attention_pairs-inl.h"
#include "optimized/attention_weights-inl.h"
#include "optimized/attention_work.h"
#include "optimized/matrix_unit.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/packed_dot-inl.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// q [rows of whole blocks][head_pairs], zero beyond rows and channels.
inline void PackQueryRows(const AttentionJob& job, int64_t batch,
                          Worker& worker) {
  const hn::ScalableTag<uint32_t> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(du));
  const auto q = job.inputs->q.As<Bf16>();
  const int64_t dim = job.problem->head_dim;
  const int64_t stride = q.strides[3];
  const auto pairs = static_cast<size_t>(job.head_pairs());
  Magnitudes unused;
  std::fill(worker.q_pairs.begin(), worker.q_pairs.end(), 0u);
  for (size_t r = 0; r < worker.rows.size(); ++r) {
    const RowState& row = worker.rows[r];
    const Bf16* from = &q(batch, row.head, row.place, 0);
    uint32_t* to = &worker.q_pairs[r * pairs];
    int64_t d = 0;
    for (; stride == 1 && d + 2 * lanes <= dim; d += 2 * lanes) {
      // In memory the first of two channels is the lower half.
      const auto* pair = reinterpret_cast<const uint32_t*>(from + d);
      hn::StoreU(hn::RotateRight<16>(hn::LoadU(du, pair)), du, to + d / 2);
    }
    for (; d < dim; d += 2) {
      to[d / 2] = PairOf(from + d * stride, stride, 0, dim - d, &unused);
    }
  }
}

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

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
