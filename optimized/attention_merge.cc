// Dispatch and threads of attention_merge; the kernel is in the -inl file.
#include "optimized/attention_merge.h"

#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimized/attention_merge.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/attention_merge-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {

void MergeRows(const MergeJob& job, int64_t first, int64_t end,
               MergeScratch& scratch) {
  const int64_t rows = job.problem->rows;
  for (int64_t row = first; row < end; ++row) {
    MergeRow(job, row / rows, row % rows, scratch);
  }
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cstdint>

#include "optimized/mamba3_tasks.h"
#include "reference/contract/status.h"
#include "reference/contract/team.h"

namespace lockstep::optimized {
namespace {

HWY_EXPORT(MergeRows);

// A thread takes so many rows at a time: few enough for short calls, and enough
// to outweigh the cost of taking them.
constexpr int64_t kRowsOfTask = 16;

}  // namespace

Status AttentionMerge(const AttentionMergeProblem& problem,
                      const AttentionMergeInputs& inputs,
                      const AttentionMergeCaps& caps,
                      const AttentionMergeOutputs& outputs,
                      AttentionMergeExecution* execution) {
  const Status valid = Validate(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  const Result<int64_t> target = ChooseTarget(caps.target);
  if (!target.ok()) return target.status();
  const MergeJob job = {&problem, &inputs, &outputs};
  const int64_t rows = problem.heads * problem.rows;
  const int64_t tasks = (rows + kRowsOfTask - 1) / kRowsOfTask;
  const int64_t wanted = caps.threads > 0 ? caps.threads : DefaultThreads();
  const auto threads = static_cast<int>(std::min(wanted, tasks));
  const auto merge =
      HWY_DISPATCH_TABLE(MergeRows)[DispatchIndex(target.value())];
  const int ran = ForEach(
      tasks, threads, [&](int) { return MergeScratch(problem); },
      [&](int64_t task, MergeScratch& scratch) {
        const int64_t first = task * kRowsOfTask;
        merge(job, first, std::min(first + kRowsOfTask, rows), scratch);
      });
  if (execution != nullptr) {
    *execution = {hwy::TargetName(target.value()), ran};
  }
  return Status();
}

}  // namespace lockstep::optimized

#endif  // HWY_ONCE
