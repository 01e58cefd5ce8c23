// Products that are no chain, and rows by the contract's letter.
// Compiled once per target, with the functions of attention_kernels-inl.h.
#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimized/attention_orders.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/attention_block-inl.h"
#include "optimized/attention_blocks-inl.h"
#include "optimized/attention_exact-inl.h"
#include "optimized/attention_kernels-inl.h"
#include "optimized/attention_matrix-inl.h"
#include "optimized/attention_pairs-inl.h"
#include "optimized/attention_work.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void OrderScores(const AttentionJob& job, const PackedTile& tile,
                 const Block& block, Worker& worker) {
  EmulatedScores(hn::ScalableTag<float>(), job, tile, block, worker);
}

void OrderValues(const AttentionJob& job, const PackedTile& tile,
                 const Block& block, Worker& worker) {
  EmulatedValues(hn::ScalableTag<float>(), job, tile, block, worker);
}

// q [rows of whole blocks][head_pairs], zero beyond rows and channels.
void PackQueryRows(const AttentionJob& job, int64_t batch, Worker& worker) {
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

void MatrixTimesTile(const AttentionJob& job, const PackedTile& tile,
                     bool masked, Worker& worker) {
  const hn::ScalableTag<float> df;
  if (masked) return MatrixTimesTile<true>(df, job, tile, worker);
  MatrixTimesTile<false>(df, job, tile, worker);
}

void ExactRow(const AttentionJob& job, int64_t batch, const RowState& row,
              float* acc, Worker& worker) {
  const hn::ScalableTag<float> df;
  const hn::CappedTag<float, 1> d1;
  const int64_t kv_len = job.problem->kv_len;
  ReadRow(d1, job, batch, row, worker);
  const ExactMaximum max = FindMaximum(job, row, {0, kv_len}, worker);
  const auto values = static_cast<size_t>(job.problem->value_dim);
  if (max.nan) {
    const float nan = std::bit_cast<float>(kCanonicalNaNBits);
    std::fill(acc, acc + values, nan);
    return StoreRow(job, batch, row, acc, nan);
  }
  const ExactPart whole{
      {0, kv_len}, row.fixed ? 0.0f : max.m, row.fixed ? 0.0f : kWeightShift};
  const float l = ExactSums(d1, job, batch, row, whole, row.fixed, worker, acc);
  const float lse = LogSumExp(d1, l, whole.m, whole.shift);

  std::vector<bool> overflowed(values);
  for (size_t c = 0; c < values; ++c) overflowed[c] = !std::isfinite(acc[c]);
  Normalise(df, job, batch, row, l, acc);
  RedoOverflowed(d1, job, batch, row, max.m, overflowed, worker, acc);
  StoreRow(job, batch, row, acc, lse);
}

void ExactState(const AttentionJob& job, int64_t batch, const RowState& row,
                float* acc, Worker& worker) {
  const hn::CappedTag<float, 1> d1;
  const Range keys{0, job.problem->kv_len};
  ReadRow(d1, job, batch, row, worker);
  const ExactMaximum max = FindMaximum(job, row, keys, worker);
  const bool small = job.states->size == WeightSize::kSmall;
  const bool fixed = row.fixed && !small;
  const ExactPart part{keys, fixed ? 0.0f : max.m,
                       small   ? kRedoShift
                       : fixed ? 0.0f
                               : kWeightShift};
  float m = part.m;
  float l = ExactSum(d1, part, worker);
  ExactValues(d1, job, batch, row, part, worker, acc);
  // Scores of -inf alone also make a state: other parts may have finite scores.
  if (max.bad) {
    m = l = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(acc, job.problem->value_dim, m);
  }
  StoreState(job, batch, row, m, l, acc);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
