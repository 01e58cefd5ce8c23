// What a scan asks of a machine, for benchmarks.
#include <cstdint>
#include <optional>

#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {

std::optional<Work> Mamba3ScanTrial::CountWork() const {
  const Mamba3ScanProblem& p = data().problem;
  int64_t tokens = 0;
  for (const reference::Run& run : runs()) tokens += run.end - run.first;
  const double units = static_cast<double>(tokens * p.heads);
  // The state is f32 whatever the lane of the tensors is.
  return Work{units * static_cast<double>(p.state_dim * p.head_dim) *
                  static_cast<double>(1 + 6 * p.ranks),
              units, "head_tokens", WorkLane::kF32};
}

}  // namespace lockstep::verify
