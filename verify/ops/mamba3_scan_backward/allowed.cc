#include "verify/ops/mamba3_scan_backward/trial.h"

namespace lockstep::verify {

std::vector<Case> Mamba3ScanBackwardTrial::ProbeCases(const Case&,
                                                      const NumericProfile&) {
  return {};
}

}  // namespace lockstep::verify
