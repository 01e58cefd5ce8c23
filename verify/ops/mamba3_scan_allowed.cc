// What a numeric profile allows mamba3_scan to answer.
#include <memory>
#include <utility>

#include "reference/mamba3_scan.h"
#include "verify/ops/mamba3_scan.h"

namespace lockstep::verify {

std::string Mamba3ScanTrial::WhyUndeclared(
    const NumericProfile& profile) const {
  const Mamba3ScanProblem& p = data_.problem;
  if (!profile.exact) return "mamba3_scan";
  if (profile.lane && *profile.lane != p.lane) {
    return std::string("lane=") + LaneName(p.lane);
  }
  return "";
}

std::unique_ptr<AllowedResults> Mamba3ScanTrial::Envelope(const NumericProfile&,
                                                          std::vector<int64_t>,
                                                          int) const {
  return nullptr;
}

std::unique_ptr<AllowedResults> Mamba3ScanTrial::Probe(
    const NumericProfile&, std::vector<int64_t>) const {
  return nullptr;
}

std::vector<Case> Mamba3ScanTrial::ProbeCases(const Case&,
                                              const NumericProfile&) {
  return {};
}

// The contract with rotated q and k rounded to bf16.
void Mamba3ScanTrial::RunBaseline(const OutputSet& outputs) const {
  Mamba3ScanProblem problem = data_.problem;
  problem.rotated_lane = Lane::kBf16;
  reference::Mamba3Scan(problem, data_.inputs, Views(outputs));
}

const char* Mamba3ScanTrial::CorrectKernel() const {
  return "builtin:reference";
}

std::span<const char* const> Mamba3ScanTrial::Canaries() const { return {}; }

}  // namespace lockstep::verify
