// Dispatch, runs and threads of mamba3_scan; the kernels are in the -inl files.
#include "optimized/mamba3_scan.h"

#include "optimized/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimized/mamba3_scan.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "hwy/highway.h"
#include "optimized/mamba3_chunk-inl.h"
#include "optimized/mamba3_head-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {

void RunMamba3Head(const Mamba3Job& job, const Mamba3Task& task,
                   Mamba3Scratch& scratch) {
  RunHead(job, task, scratch);
}

void RunMamba3Chunks(const Mamba3Job& job, const Mamba3Task& task,
                     Mamba3ChunkScratch& scratch) {
  RunChunks(job, task, scratch);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/mamba3_tasks.h"
#include "optimized/mamba3_work.h"
#include "reference/contract/mamba3_step.h"
#include "reference/contract/status.h"
#include "reference/contract/team.h"

namespace lockstep::optimized {
namespace {

HWY_EXPORT(RunMamba3Head);
HWY_EXPORT(RunMamba3Chunks);

// Longest first, so that no thread is left with a long one at the end.
std::vector<Mamba3Task> LongestFirst(std::vector<Mamba3Task> tasks) {
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const Mamba3Task& a, const Mamba3Task& b) {
                     return a.end - a.first > b.end - b.first;
                   });
  return tasks;
}

// Tokens of a chunk, 0 for the recurrence.
Result<int64_t> ChooseChunk(const Mamba3ScanCaps& caps) {
  if (caps.algorithm == Mamba3Algorithm::kExact) {
    if (caps.chunk == 0) return int64_t{0};
    return Status::Error("chunk " + std::to_string(caps.chunk) +
                         " is for the chunked algorithm only");
  }
  if (caps.chunk == 0) return kMamba3Chunk;
  if (caps.chunk >= 1 && caps.chunk <= kMamba3MaxChunk) return caps.chunk;
  return Status::Error("chunk " + std::to_string(caps.chunk) +
                       " is outside 1 .. " + std::to_string(kMamba3MaxChunk));
}

int64_t CountPieces(const std::vector<Mamba3Task>& tasks, int64_t chunk) {
  int64_t pieces = 0;
  for (const Mamba3Task& task : tasks) {
    if (chunk == 0 || task.first == task.end) continue;
    pieces += (task.end - 1) / chunk - task.first / chunk + 1;
  }
  return pieces;
}

// `kernel(job, task, scratch)` for every task, longest first. Returns the
// threads of the team that ran, which may be fewer than `threads`.
template <class Kernel, class MakeScratch>
int RunTasks(const Mamba3Job& job, const std::vector<Mamba3Task>& tasks,
             int threads, const Kernel& kernel, const MakeScratch& make) {
  return ForEach(
      static_cast<int64_t>(tasks.size()), threads, [&](int) { return make(); },
      [&](int64_t task, auto& scratch) {
        kernel(job, tasks[static_cast<size_t>(task)], scratch);
      });
}

}  // namespace

Status Mamba3Scan(const Mamba3ScanProblem& problem,
                  const Mamba3ScanInputs& inputs, const Mamba3ScanCaps& caps,
                  const Mamba3ScanOutputs& outputs,
                  Mamba3ScanExecution* execution) {
  const Status valid = Validate(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  const Result<int64_t> target = ChooseTarget(caps.target);
  if (!target.ok()) return target.status();
  const Result<int64_t> chunk = ChooseChunk(caps);
  if (!chunk.ok()) return chunk.status();
  const Mamba3Job job{&problem, &inputs, &outputs, chunk.value()};
  const std::vector<Mamba3Task> tasks =
      LongestFirst(ListTasks(problem, inputs));
  const int64_t wanted = caps.threads > 0 ? caps.threads : DefaultThreads();
  const int threads = static_cast<int>(
      std::min<int64_t>(wanted, static_cast<int64_t>(tasks.size())));
  const size_t index = DispatchIndex(target.value());
  const int64_t longest = tasks.empty() ? 0 : tasks[0].end - tasks[0].first;
  const int ran =
      job.chunk == 0
          ? RunTasks(job, tasks, threads,
                     HWY_DISPATCH_TABLE(RunMamba3Head)[index],
                     [&] { return Mamba3Scratch(problem); })
          : RunTasks(job, tasks, threads,
                     HWY_DISPATCH_TABLE(RunMamba3Chunks)[index], [&] {
                       return Mamba3ChunkScratch(problem,
                                                 std::min(job.chunk, longest));
                     });
  if (execution != nullptr) {
    *execution = {hwy::TargetName(target.value()), ran, caps.algorithm,
                  job.chunk, CountPieces(tasks, job.chunk)};
  }
  return Status();
}

Status Mamba3Step(const Mamba3ScanProblem& problem,
                  const Mamba3ScanInputs& inputs, const Mamba3ScanCaps& caps,
                  const Mamba3ScanOutputs& outputs,
                  Mamba3ScanExecution* execution) {
  const Status valid = ValidateStep(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  return Mamba3Scan(problem, inputs, caps, outputs, execution);
}

}  // namespace lockstep::optimized

#endif  // HWY_ONCE
