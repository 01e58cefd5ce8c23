// attention_merge, by definition: one row at a time, scalar, one thread.
#ifndef LOCKSTEP_REFERENCE_ATTENTION_MERGE_H_
#define LOCKSTEP_REFERENCE_ATTENTION_MERGE_H_

#include <cstdint>
#include <span>

#include "reference/contract/attention_merge.h"
#include "reference/contract/status.h"

namespace lockstep::reference {

// One merged row: (head, row).
struct MergedRow {
  int64_t head = 0;
  int64_t row = 0;
};

// o [value_dim] of the row, rounded to the problem's out_lane and carried in
// f32, and its lse. Exact: N23.
//   Errors: Validate(problem)'s; a row out of range; another extent of o; lse
//   is null. Requires: tensors that are there and have the shapes that
//   Validate(problem, inputs, outputs) wants.
Status AttentionMergeRow(const AttentionMergeProblem& problem,
                         const AttentionMergeInputs& inputs,
                         const MergedRow& row, std::span<float> o, float* lse);

// All rows. o [heads, rows, value_dim], lse [heads, rows].
//   Errors: Validate(problem, inputs, outputs)'s; nothing is written then.
Status AttentionMerge(const AttentionMergeProblem& problem,
                      const AttentionMergeInputs& inputs,
                      const AttentionMergeOutputs& outputs);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_ATTENTION_MERGE_H_
