// Dispatch, runs and threads of mamba3_scan_backward; the kernels are in the
// -inl files.
#include "optimized/mamba3_scan_backward.h"

#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimized/mamba3_scan_backward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/mamba3_scan_backward-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {

void ReverseHeadOfRun(const ReverseJob& job, const Mamba3Task& task,
                      ReverseScratch& scratch) {
  ReverseRun(job, task, scratch);
}

void WriteHeadSums(const ReverseJob& job, int64_t head,
                   const Mamba3Scratch& shape) {
  WriteHead(job, head, shape);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "optimized/mamba3_reverse_work.h"
#include "optimized/mamba3_tasks.h"
#include "reference/contract/status.h"
#include "reference/contract/team.h"

namespace lockstep::optimized {
namespace {

HWY_EXPORT(ReverseHeadOfRun);
HWY_EXPORT(WriteHeadSums);

// Half the root of the longest run, but a block or more: of the states before
// pieces of 8 tokens a second cache holds few, and they took 5 % longer.
int64_t BestCheckpoint(int64_t length) {
  int64_t half = kReverseBlock;
  while (4 * half * half < length) ++half;
  return half;
}

hwy::AlignedVector<float> Zeros(int64_t count) {
  return hwy::AlignedVector<float>(static_cast<size_t>(count), 0.0f);
}

// Every head of every run, taken in ascending order, which HeadOrder needs.
int RunTasks(const ReverseJob& job, const std::vector<Mamba3Task>& tasks,
             int threads, size_t target, int64_t longest) {
  const auto reverse = HWY_DISPATCH_TABLE(ReverseHeadOfRun)[target];
  std::atomic<size_t> next = 0;
  return ForEach(
      threads, threads, [&](int) { return ReverseScratch(job, longest); },
      [&](int64_t, ReverseScratch& scratch) {
        for (size_t i = next++; i < tasks.size(); i = next++) {
          reverse(job, tasks[i], scratch);
        }
      });
}

}  // namespace

Status Mamba3ScanBackward(const Mamba3ScanBackwardProblem& problem,
                          const Mamba3ScanBackwardInputs& inputs,
                          const Mamba3ScanBackwardCaps& caps,
                          const Mamba3ScanBackwardOutputs& outputs,
                          Mamba3ScanBackwardExecution* execution) {
  const Status valid = Validate(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  const Result<int64_t> target = ChooseTarget(caps.target);
  if (!target.ok()) return target.status();
  if (caps.checkpoint < 0) {
    return Status::Error("checkpoint " + std::to_string(caps.checkpoint) +
                         "; want 1 or more tokens, or 0 for the best");
  }
  const Mamba3ScanProblem& p = problem.forward;
  const std::vector<Mamba3Task> tasks = ListTasks(p, inputs.forward);
  int64_t longest = 0;
  for (const Mamba3Task& task : tasks) {
    longest = std::max(longest, task.end - task.first);
  }
  HeadOrder order(static_cast<int64_t>(tasks.size()), p.heads);
  const Mamba3ScanOutputs none;
  ReverseJob job;
  job.problem = &problem;
  job.inputs = &inputs;
  job.outputs = &outputs;
  job.forward = {&p, &inputs.forward, &none, 0};
  job.checkpoint = caps.checkpoint > 0 ? std::min(caps.checkpoint, kMaxLength)
                                       : BestCheckpoint(longest);
  job.order = &order;
  const int64_t rows = p.batch * p.length * p.ranks * p.groups;
  const Mamba3Scratch shape(p);
  auto dq = Zeros(rows * job.row());
  auto dk = Zeros(rows * job.row());
  auto totals = Zeros(p.heads * HeadSums::Size(shape));
  job.dq = dq.data();
  job.dk = dk.data();
  job.totals = totals.data();
  const int64_t wanted = caps.threads > 0 ? caps.threads : DefaultThreads();
  const auto threads = static_cast<int>(
      std::min<int64_t>(wanted, static_cast<int64_t>(tasks.size())));
  const size_t index = DispatchIndex(target.value());
  const int ran = RunTasks(job, tasks, threads, index, longest);
  for (int64_t head = 0; head < p.heads; ++head) {
    HWY_DISPATCH_TABLE(WriteHeadSums)[index](job, head, shape);
  }
  if (execution != nullptr) {
    *execution = {hwy::TargetName(target.value()), ran, job.checkpoint};
  }
  return Status();
}

}  // namespace lockstep::optimized

#endif  // HWY_ONCE
