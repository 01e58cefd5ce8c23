#include "verify/ops/laws.h"

namespace lockstep::verify {

std::vector<std::vector<LinePair>> AllLines(const Trial& trial) {
  std::vector<std::vector<LinePair>> kept;
  for (const OutputSpec& spec : trial.outputs()) {
    std::vector<LinePair>& lines = kept.emplace_back();
    for (int64_t n = 0; n < spec.lines(); ++n) lines.push_back({n, n});
  }
  return kept;
}

}  // namespace lockstep::verify
