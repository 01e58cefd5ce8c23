// The scales of keys and values in fp8 (N25), in the form that rows and heads
// use.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_KEY_SCALES_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_KEY_SCALES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "optimized/attention_work.h"
#include "reference/contract/key_scales.h"

namespace lockstep::optimized {

// N25: one score scale per query head if all keys, or all queries, of a head
// share a scale; else none.
inline std::vector<ScoreScale> MakeHeadScales(
    const AttentionForwardProblem& p, const AttentionForwardInputs& inputs) {
  std::vector<ScoreScale> scales;
  const bool of_k = p.k_scales.shared();
  const bool of_q = p.q_scales.shared();
  for (int64_t h = 0; (of_k || of_q) && h < p.q_heads; ++h) {
    const int64_t kv_head = h / p.group();
    scales.push_back(MakeScoreScale(
        p, of_k ? KeyScaleOf(p.k_scales, inputs.k_scale, 0, kv_head, 0) : 1.0f,
        of_q ? KeyScaleOf(p.q_scales, inputs.q_scale, 0, h, 0) : 1.0f));
  }
  return scales;
}

// N25: the query's own scale; 1 if it shares one.
inline float OwnScaleOf(const AttentionJob& job, int64_t batch,
                        const RowState& row) {
  const KeyScales& scales = job.problem->q_scales;
  if (!scales.by_key()) return 1.0f;
  // Queries behind the last one may have no scale, and see no key.
  if (row.query >= job.inputs->ValidQ(*job.problem, batch)) return 1.0f;
  return KeyScaleOf(scales, job.inputs->q_scale, batch, row.head, row.query);
}

// N25: the scale of each key of a tile, or 1 where there is no key.
inline void FillScales(const AttentionJob& job, const KeyScales& scales,
                       const KeyScaleView& view, const RowTile& rows,
                       Range keys, hwy::AlignedVector<float>& out) {
  out.assign(static_cast<size_t>(RoundUp(job.padded_keys, kStripes)), 1.0f);
  const int64_t end =
      std::min(keys.end, job.inputs->ValidKv(*job.problem, rows.batch));
  for (int64_t key = keys.begin; key < end; ++key) {
    out[static_cast<size_t>(key - keys.begin)] =
        KeyScaleOf(scales, view, rows.batch, rows.kv_head, key);
  }
}

inline void FillScalesOfTile(const AttentionJob& job, const RowTile& rows,
                             Range keys, Worker& worker) {
  const AttentionForwardProblem& p = *job.problem;
  if (p.k_scales.by_key()) {
    FillScales(job, p.k_scales, job.inputs->k_scale, rows, keys,
               worker.key_scales);
  }
  if (!p.v_scales.by_key()) return;
  FillScales(job, p.v_scales, job.inputs->v_scale, rows, keys,
             worker.value_scales);
  const float least =
      *std::min_element(worker.value_scales.begin(), worker.value_scales.end());
  worker.value_scale_exponent =
      std::min(worker.value_scale_exponent, std::ilogb(least));
}

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_KEY_SCALES_H_
