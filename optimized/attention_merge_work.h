// The job of a merge, and the memory of one worker.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_MERGE_WORK_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_MERGE_WORK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "reference/contract/attention_merge.h"

namespace lockstep::optimized {

// All live longer than the call.
struct MergeJob {
  const AttentionMergeProblem* problem = nullptr;
  const AttentionMergeInputs* inputs = nullptr;
  const AttentionMergeOutputs* outputs = nullptr;
};

// Rows are padded to whole vectors of any target, zeros at first.
struct MergeScratch {
  static constexpr size_t kPadding = 64;

  explicit MergeScratch(const AttentionMergeProblem& p)
      : weights(static_cast<size_t>(p.parts) + kPadding, 0.0f),
        acc(static_cast<size_t>(p.value_dim) + kPadding, 0.0f),
        row(static_cast<size_t>(p.value_dim) + kPadding, 0.0f),
        numbers(static_cast<size_t>(p.parts)) {}

  hwy::AlignedVector<float> weights;  // of parts that saw a key
  hwy::AlignedVector<float> acc;
  hwy::AlignedVector<float> row;  // a part's o, where it has to be copied
  std::vector<int64_t> numbers;   // of these parts
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_MERGE_WORK_H_
