// Parts of the keys (split=N, N22): the sums of a row tile over one part, and
// the parts' sums put together. Threads share a row tile by its parts.
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_SPLIT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_SPLIT_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_SPLIT_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_SPLIT_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hwy/highway.h"
#include "optimized/attention_finish-inl.h"
#include "optimized/attention_forward-inl.h"
#include "optimized/attention_store-inl.h"
#include "optimized/attention_weights-inl.h"
#include "optimized/attention_work.h"
#include "optimized/matrix_unit.h"
#include "optimized/simd/registers-inl.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What the worker has of its rows -> a part's sums.
inline void KeepPart(const AttentionJob& job, Worker& worker, PartSums& part) {
  part.rows = worker.rows;
  part.l.resize(worker.rows.size());
  for (size_t r = 0; r < part.l.size(); ++r) {
    part.l[r] = FoldStripes(&worker.stripes[r * kStripes]);
  }
  const auto used = static_cast<std::ptrdiff_t>(
      worker.rows.size() * static_cast<size_t>(job.padded_values));
  part.acc.assign(worker.acc.begin(), worker.acc.begin() + used);
}

// Row r of all parts -> its state and sums in the worker; returns l. The
// worker's row is as it was before any key.
template <class D>
float AddParts(D df, const AttentionJob& job, std::span<const PartSums> parts,
               size_t r, Worker& worker) {
  const hn::CappedTag<float, 1> d1;
  const auto values = static_cast<size_t>(job.padded_values);
  RowState& row = worker.rows[r];
  for (const PartSums& part : parts) {
    const RowState& own = part.rows[r];
    if (!own.visible) continue;
    row.visible = true;
    row.redo |= own.redo;
    row.letter |= own.letter;
    row.m = std::max(row.m, own.m);
  }
  float l = 0.0f;
  for (const PartSums& part : parts) {
    const RowState& own = part.rows[r];
    if (!own.visible) continue;
    const float down = own.m - row.m;
    AddScaledOnce(d1, down, &l, part.l[r]);
    AddScaledOnce(df, down, part.acc.data() + r * values, values,
                  worker.acc.data() + r * values);
  }
  return l;
}

template <class D>
void MergePartsT(D df, const AttentionJob& job, const RowTile& tile,
                 std::span<const PartSums> parts, Worker& worker) {
  StartRows(job, tile, worker);
  ClearSums(job, worker);
  // For rows that are done key by key: the worker may come from other rows.
  StartMasks(tile.batch, Range(), worker);
  for (size_t r = 0; r < worker.rows.size(); ++r) {
    const float l = AddParts(df, job, parts, r, worker);
    FinishRow(df, job, tile.batch, r, l, worker);
  }
}

// N22: one row tile and one part of the keys.
void SumPart(const AttentionJob& job, const RowTile& tile, int64_t part,
             const PackedHead& packed, Worker& worker, PartSums& sums) {
  std::optional<MatrixScope> matrix;
  if (job.matrix()) matrix.emplace();
  SumRows(job, tile, job.KeysOfPart(part), packed, worker);
  KeepPart(job, worker, sums);
}

// N22: the parts of one row tile -> its outputs.
void MergeParts(const AttentionJob& job, const RowTile& tile,
                std::span<const PartSums> parts, Worker& worker) {
  MergePartsT(hn::ScalableTag<float>(), job, tile, parts, worker);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
