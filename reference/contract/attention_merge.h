// attention_merge puts attention over parts of the keys together. This file has
// the static problem, the inputs and the outputs.
// Source: docs/ops/attention_merge.md; arithmetic: clause N23 of
// docs/numerics.md.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_MERGE_H_
#define LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_MERGE_H_

#include <cstdint>

#include "reference/contract/limits.h"  // IWYU pragma: export
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {

// Most parts of a row.
inline constexpr int64_t kMaxParts = int64_t{1} << 12;

// Of the logarithm that every lse is: natural, or binary.
enum class LseBase : uint8_t { kE, kTwo };

// The static contract: a change of any field is another kernel.
struct AttentionMergeProblem {
  int64_t parts = 1;
  int64_t heads = 1;
  int64_t rows = 1;            // of a head: queries of all batch rows
  int64_t value_dim = 1;       // channels
  Lane lane = Lane::kF32;      // of the parts' o
  Lane out_lane = Lane::kF32;  // of the merged o
  LseBase base = LseBase::kE;
};

// What attention gave for each part of the keys, normalised over that part.
struct AttentionMergeInputs {
  LaneView o;                      // [parts, heads, rows, value_dim]
  TensorView<const float, 3> lse;  // [parts, heads, rows]; -inf: the part saw
                                   // no key of the row, and its o is not read
};

struct AttentionMergeOutputs {
  BasicLaneView<void, 3> o;  // [heads, rows, value_dim]
  TensorView<float, 2> lse;  // [heads, rows], in the base of the parts
};

// Refuses every problem that has no meaning, naming the field, its value and
// what would be right.
Status Validate(const AttentionMergeProblem& problem);

// The same, and that the tensors agree with the problem: shapes, lanes, strides
// (inputs >= 0, outputs without overlap), presence.
Status Validate(const AttentionMergeProblem& problem,
                const AttentionMergeInputs& inputs,
                const AttentionMergeOutputs& outputs);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_ATTENTION_MERGE_H_
