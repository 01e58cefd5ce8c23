// What a mamba3_scan_backward case says: a mamba3_scan case and cotangents of
// its outputs. Keys: docs/cases.md.
#ifndef LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_BACKWARD_H_
#define LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_BACKWARD_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/mamba3_scan_backward.h"
#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/case/cotangent.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"

namespace lockstep::verify {

struct Mamba3ScanBackwardCase
    : OpValuesAs<Mamba3ScanBackwardCase, Mamba3ScanCase> {
  Lane grad_lane = Lane::kF32;  // of gradients that have a value a token
  std::vector<FillTerm> dy = OrdinaryCotangent();
  bool dcarry = false;  // whether the carries of the runs have cotangents
  friend bool operator==(const Mamba3ScanBackwardCase&,
                         const Mamba3ScanBackwardCase&) = default;
};

// The static problem. Requires: ValidateCase passes for a meaningful one.
Mamba3ScanBackwardProblem ToBackwardProblem(const Mamba3ScanBackwardCase& c);

// In canonical order: those of mamba3_scan, and three more.
std::span<const CaseKey> Mamba3ScanBackwardKeys();

// Of its row, below.  Requires: a mamba3_scan_backward case.
Status ValidateMamba3ScanBackward(const Case& c);
int64_t Mamba3ScanBackwardBytes(const Case& c);
std::string WhyNotMamba3ScanBackwardProbe(ProbeKind probe, const Case& c);

inline constexpr CaseRow kMamba3ScanBackwardText = [] {
  CaseRow row = Mamba3Text<Mamba3ScanBackwardCase>(
      "mamba3_scan_backward", "the gradients of mamba3_scan",
      &WhyNotMamba3ScanBackwardProbe);
  row.keys = &Mamba3ScanBackwardKeys;
  row.validate = &ValidateMamba3ScanBackward;
  row.bytes = &Mamba3ScanBackwardBytes;
  // Gradients in a narrow lane have inputs in it.
  row.set_lane = [](Lane lane, Case* c) {
    auto& scan = c->Get<Mamba3ScanBackwardCase>();
    scan.problem.lane = lane;
    if (scan.grad_lane != Lane::kF32) scan.grad_lane = lane;
  };
  return row;
}();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_BACKWARD_H_
