// Few rows against many keys, as in decode: a packed tile would be used once,
// so keys and values are read where they lie. Scores have the rows in lanes,
// twice where there is room for two keys; every accumulator is one output chain
// as in attention_tiles-inl.h. Values: attention_direct_values-inl.h.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_DIRECT_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "optimized/attention_direct_rows-inl.h"
#include "optimized/attention_work.h"
#include "optimized/simd/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Keys whose scores are formed together, an accumulator each; 16 registers
// have room for the query and the broadcasts beside them.
inline constexpr int kDirectKeys = 12;

// Whether so few rows are read in place that a vector holds each of them twice,
// for two keys: half as many multiply-adds.
inline bool TwoKeysAVector(const AttentionJob& job, const Worker& worker) {
  return 2 * worker.rows.size() <= static_cast<size_t>(job.geometry.lanes);
}

// Queries of the row tile: [head_dim][lanes], zero beyond its rows; each twice
// beside itself if two keys share a vector.
template <typename T>
void PackQueryLanes(const AttentionJob& job, const TensorView<const T, 4>& q,
                    int64_t batch, Worker& worker) {
  const auto lanes = static_cast<size_t>(job.geometry.lanes);
  const auto dim = static_cast<size_t>(job.problem->head_dim);
  const size_t copies = TwoKeysAVector(job, worker) ? 2 : 1;
  worker.q.assign(dim * lanes, 0.0f);
  for (size_t r = 0; r < worker.rows.size(); ++r) {
    const RowState& row = worker.rows[r];
    const T* from = &q(batch, row.head, row.place, 0);
    for (size_t d = 0; d < dim; ++d) {
      const float x = ToFloat(from[static_cast<int64_t>(d) * q.strides[3]]);
      std::fill_n(&worker.q[d * lanes + r * copies], copies, x);
    }
  }
}

// Scores of all rows against kKeys keys.
//   q [dim][lanes], k [kKeys][kDirectHeadDim] -> scores [kKeys][lanes].
//   Exact: N3.
template <int kKeys, class D>
HWY_NOINLINE void ScoreKeys(D df, const float* HWY_RESTRICT q,
                            const float* HWY_RESTRICT k, size_t dim,
                            float* HWY_RESTRICT scores) {
  const size_t lanes = hn::Lanes(df);
  hn::Vec<D> acc[kKeys];
  HWY_UNROLL(12)
  for (int j = 0; j < kKeys; ++j) acc[j] = hn::Zero(df);
  for (size_t d = 0; d < dim; ++d) {
    const auto channel = hn::Load(df, q + d * lanes);
    HWY_UNROLL(12)
    for (int j = 0; j < kKeys; ++j) {
      acc[j] =
          hn::MulAdd(channel, hn::Set(df, k[j * kDirectHeadDim + d]), acc[j]);
    }
  }
  HWY_UNROLL(12)
  for (int j = 0; j < kKeys; ++j) hn::Store(acc[j], df, scores + j * lanes);
}

// The same against kPairs pairs of keys: the lanes of a row are its two.
//   q [dim][lanes], k [kPairs][kDirectHeadDim][2] -> scores [kPairs][lanes].
//   Exact: N3.
template <int kPairs, class D>
HWY_NOINLINE void ScorePairs(D df, const float* HWY_RESTRICT q,
                             const float* HWY_RESTRICT k, size_t dim,
                             float* HWY_RESTRICT scores) {
  const hn::Repartition<uint64_t, D> of_both;
  const size_t lanes = hn::Lanes(df);
  hn::Vec<D> acc[kPairs];
  HWY_UNROLL(12)
  for (int j = 0; j < kPairs; ++j) acc[j] = hn::Zero(df);
  for (size_t d = 0; d < dim; ++d) {
    const auto channel = hn::Load(df, q + d * lanes);
    HWY_UNROLL(12)
    for (int j = 0; j < kPairs; ++j) {
      uint64_t both;
      std::memcpy(&both, k + 2 * (j * kDirectHeadDim + d), sizeof(both));
      acc[j] =
          hn::MulAdd(channel, hn::BitCast(df, hn::Set(of_both, both)), acc[j]);
    }
  }
  HWY_UNROLL(12)
  for (int j = 0; j < kPairs; ++j) hn::Store(acc[j], df, scores + j * lanes);
}

// Lanes of pairs of keys, [pairs][lanes], from key `begin` to `end`, multiples
// of four -> `out` [rows][stride].
inline void StoreScorePairs(const float* HWY_RESTRICT pairs, size_t lanes,
                            size_t begin, size_t end, size_t rows,
                            float* HWY_RESTRICT out, size_t stride) {
  for (size_t r = 0; r < rows; r += 2) {
    for (size_t key = begin; key < end; key += 4) {
      const float* from = pairs + key / 2 * lanes + 2 * r;
      StoreTransposedPairs(from, from + lanes, out + r * stride + key, stride);
    }
  }
}

// DirectScores with two keys a vector. Where the block has one key of a pair,
// the scores of the other key stand beside its own, with any value. A mask
// hides them, as it does in packed panels.
template <typename T, class D>
void PairedScores(D df, const AttentionJob& job, RowsInOrder<T>& keys,
                  const Block& block, Worker& worker) {
  const size_t lanes = hn::Lanes(df);
  const auto stride = static_cast<size_t>(job.weight_stride);
  const size_t begin = block.begin / kStripes * kStripes;
  const size_t end = (block.end + kStripes - 1) / kStripes * kStripes;
  worker.row_lanes.resize(stride / 2 * lanes);
  float* scores = worker.row_lanes.data();
  const auto zero = [&](size_t first, size_t last) {
    std::fill(scores + first / 2 * lanes, scores + last / 2 * lanes, 0.0f);
  };
  zero(begin, block.begin);
  zero(block.end / 2 * 2, end);
  worker.wide_rows.resize(2 * kDirectKeys * kDirectHeadDim);
  float* wide = worker.wide_rows.data();
  size_t j = block.begin / 2 * 2;
  const auto score = [&]<int kPairs>() HWY_ATTR {
    for (; j + 2 * kPairs - 1 <= block.end && j < block.end; j += 2 * kPairs) {
      WidenPairs(keys, std::min<size_t>(2 * kPairs, block.end - j), wide);
      ScorePairs<kPairs>(df, worker.q.data(), wide, keys.channels,
                         scores + j / 2 * lanes);
    }
  };
  score.template operator()<kDirectKeys>();
  score.template operator()<4>();
  score.template operator()<1>();
  StoreScorePairs(scores, lanes, begin, end, block.rows, worker.weights.data(),
                  stride);
}

// Scores of the keys of `block` -> worker.weights [rows][weight_stride]; zero
// in the stripes around them, where masks decide.
template <typename T, class D>
void DirectScores(D df, const AttentionJob& job, const RowTile& tile,
                  Range keys, const Block& block, Worker& worker) {
  const bool two = TwoKeysAVector(job, worker);
  const auto first =
      static_cast<int64_t>(two ? block.begin / 2 * 2 : block.begin);
  const KeyRows<T> k = job.Keys<T>(tile.batch, tile.kv_head);
  RowsInOrder<T> rows(k, static_cast<size_t>(job.problem->head_dim),
                      keys.begin + first,
                      k.table == nullptr ? 2 * kDirectKeys : 4 * kDirectKeys,
                      job.problem->kv_len);
  if (two) return PairedScores(df, job, rows, block, worker);
  const size_t lanes = hn::Lanes(df);
  const auto dim = static_cast<size_t>(job.problem->head_dim);
  const auto stride = static_cast<size_t>(job.weight_stride);
  const size_t begin = block.begin / kStripes * kStripes;
  const size_t end = (block.end + kStripes - 1) / kStripes * kStripes;
  worker.row_lanes.resize(stride * lanes);
  float* scores = worker.row_lanes.data();
  std::fill(scores + begin * lanes, scores + block.begin * lanes, 0.0f);
  std::fill(scores + block.end * lanes, scores + end * lanes, 0.0f);
  worker.wide_rows.resize(kDirectKeys * kDirectHeadDim);
  float* wide = worker.wide_rows.data();
  size_t j = block.begin;
  const auto score = [&]<int kKeys>() HWY_ATTR {
    for (; j + kKeys <= block.end; j += kKeys) {
      WidenRows(rows, kKeys, wide, kDirectHeadDim);
      ScoreKeys<kKeys>(df, worker.q.data(), wide, dim, scores + j * lanes);
    }
  };
  score.template operator()<kDirectKeys>();
  score.template operator()<4>();  // a tile of 256 keys leaves four
  score.template operator()<1>();
  const hn::CappedTag<float, kQuad> d4;
  for (size_t r = 0; r < block.rows; r += kQuad) {
    float* out = worker.weights.data() + r * stride;
    for (size_t key = begin; key < end; key += kQuad) {
      const float* at = scores + key * lanes + r;
      StoreTransposed(d4, hn::LoadU(d4, at), hn::LoadU(d4, at + lanes),
                      hn::LoadU(d4, at + 2 * lanes),
                      hn::LoadU(d4, at + 3 * lanes), out + key, stride);
    }
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
