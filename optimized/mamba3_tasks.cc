#include "optimized/mamba3_tasks.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/mamba3_work.h"
#include "optimized/plan.h"
#include "optimized/simd/targets.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {
namespace {

// Where the runs of a row start, and its end behind the last.
std::vector<int64_t> Bounds(const Mamba3ScanProblem& p,
                            const Mamba3ScanInputs& in, int64_t row) {
  if (p.runs == Mamba3ScanProblem::Runs::kCuSeqlens) return in.cu_seqlens;
  std::vector<int64_t> bounds = {0};
  if (p.runs == Mamba3ScanProblem::Runs::kSegments) {
    int32_t id = in.segments(row, 0);
    for (int64_t t = 1; t < p.length; ++t) {
      const int32_t next = in.segments(row, t);
      if (next != id) bounds.push_back(t);
      id = next;
    }
  }
  bounds.push_back(p.length);
  return bounds;
}

}  // namespace

Result<int64_t> ChooseTarget(const std::string& name) {
  // Asked once: the question costs tens of microseconds on a virtual machine,
  // longer than a step of decoding.
  static const int64_t supported = hwy::SupportedTargets();
  for (const int64_t bit : CompiledTargets()) {
    const bool asked = name.empty() || name == hwy::TargetName(bit);
    if (asked && (supported & bit)) return bit;
  }
  return Status::Error(
      name.empty() ? "no compiled target is supported by this CPU"
      : TargetBit(name) == 0
          ? UnknownTarget(name)
          : "target " + name + " is not supported by this CPU");
}

std::vector<Mamba3Task> ListTasks(const Mamba3ScanProblem& p,
                                  const Mamba3ScanInputs& in) {
  std::vector<Mamba3Task> tasks;
  int64_t run = 0;
  for (int64_t row = 0; row < p.batch; ++row) {
    const std::vector<int64_t> bounds = Bounds(p, in, row);
    for (size_t i = 1; i < bounds.size(); ++i, ++run) {
      for (int64_t head = 0; head < p.heads; ++head) {
        tasks.push_back({run, row, bounds[i - 1], bounds[i], head});
      }
    }
  }
  return tasks;
}

}  // namespace lockstep::optimized
