// attention_merge, fast: lanes over channels, threads over rows; the same bits
// as reference/attention_merge.h on every target.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_MERGE_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_MERGE_H_

#include <string>

#include "reference/contract/attention_merge.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// What the caller insists on. Where it is empty or 0, the best is taken.
struct AttentionMergeCaps {
  std::string target;  // "AVX2", "AVX3", ...
  int threads = 0;     // > 0: at most so many
};

// What really ran.
struct AttentionMergeExecution {
  std::string target;
  int threads = 0;
};

// Extra memory for each thread: two rows of o, and twelve bytes for each part.
// `execution` may be null. Exact: N23, whatever the caps.
// Errors: Validate(problem, inputs, outputs)'s; the target is unknown, or not
// supported by this CPU. Nothing is written then.
Status AttentionMerge(const AttentionMergeProblem& problem,
                      const AttentionMergeInputs& inputs,
                      const AttentionMergeCaps& caps,
                      const AttentionMergeOutputs& outputs,
                      AttentionMergeExecution* execution);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_MERGE_H_
