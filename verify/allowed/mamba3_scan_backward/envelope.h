// How far a kernel of a scan's gradients that keeps its profile can be from the
// truth. Derivation: docs/envelopes.md, "Gradients of scans".
#ifndef LOCKSTEP_VERIFY_ALLOWED_MAMBA3_SCAN_BACKWARD_ENVELOPE_H_
#define LOCKSTEP_VERIFY_ALLOWED_MAMBA3_SCAN_BACKWARD_ENVELOPE_H_

#include <cstdint>
#include <optional>

#include "reference/contract/mamba3_scan_backward.h"
#include "verify/allowed/result.h"
#include "verify/case/probe_kind.h"
#include "verify/oracle/mamba3_scan_backward/truth.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// `probe`: the inputs are those of a probe, whose premises are exact.
//   Requires: profile.scan.
oracle::GradientErrors GradientErrorsOf(
    const NumericProfile& profile, const Mamba3ScanBackwardProblem& problem,
    std::optional<ProbeKind> probe);

// One gradient: its sum over the heads of a group, or over the runs.
struct GradientSum {
  double value = 0, size = 0, error = 0;
  int64_t parts = 1;       // heads, or tokens of all runs, that were added up
  bool of_heads = false;   // parts are heads, which a profile may round
  Lane lane = Lane::kF32;  // what it is stored in
  bool unclaimed = false;  // of a run without tokens, of which nothing is said
};
Bounds GradientBounds(const NumericProfile& profile, const GradientSum& sum);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_MAMBA3_SCAN_BACKWARD_ENVELOPE_H_
