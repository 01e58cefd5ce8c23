#include "verify/case/mamba3_scan/probe.h"

namespace lockstep::verify {
namespace {

// Sums over more ranks exceed bf16's integers.
constexpr int64_t kMaxRanks = 4;

}  // namespace

bool ScanProbeOfIntegers(ProbeKind kind) {
  return kind == ProbeKind::kIntegrate || kind == ProbeKind::kForget ||
         kind == ProbeKind::kTriples;
}

std::string WhyNotScanProbe(ProbeKind kind, const Mamba3ScanProblem& problem) {
  if (kind < ProbeKind::kIntegrate) return "it is a probe of attention_forward";
  if (kind >= ProbeKind::kGradKeys) {
    return "it is a probe of attention_backward";
  }
  if (ScanProbeOfIntegers(kind) && problem.ranks > kMaxRanks) {
    return "more than four ranks";
  }
  if ((kind == ProbeKind::kTurns || kind == ProbeKind::kSpin) &&
      problem.angles == 0) {
    return "there are no angles";
  }
  return "";
}

}  // namespace lockstep::verify
