#include "reference/runs.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"

namespace lockstep::reference {

std::vector<Run> ListRuns(const Mamba3ScanProblem& problem,
                          const Mamba3ScanInputs& inputs) {
  std::vector<Run> runs;
  if (problem.runs == Mamba3ScanProblem::Runs::kCuSeqlens) {
    for (size_t i = 1; i < inputs.cu_seqlens.size(); ++i) {
      runs.push_back({0, inputs.cu_seqlens[i - 1], inputs.cu_seqlens[i]});
    }
    return runs;
  }
  const bool segments = problem.runs == Mamba3ScanProblem::Runs::kSegments;
  const auto& id = inputs.segments;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t t = 0; t < problem.length; ++t) {
      const bool starts = t == 0 || (segments && id(b, t) != id(b, t - 1));
      if (starts) runs.push_back({b, t, t});
      runs.back().end = t + 1;
    }
  }
  return runs;
}

}  // namespace lockstep::reference
