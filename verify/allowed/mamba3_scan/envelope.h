// How far a scan kernel that keeps its profile can be from the truth. The
// profile's fields become errors of the oracle's running bound, and the bound
// becomes sets of allowed values. Derivation: docs/envelopes.md, "Scans".
#ifndef LOCKSTEP_VERIFY_ALLOWED_MAMBA3_SCAN_ENVELOPE_H_
#define LOCKSTEP_VERIFY_ALLOWED_MAMBA3_SCAN_ENVELOPE_H_

#include <cstddef>
#include <cstdint>

#include "reference/contract/mamba3_scan.h"
#include "verify/allowed/result.h"
#include "verify/oracle/mamba3_scan/truth.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Above it a sum in f16 may overflow.
inline constexpr double kF16Largest = 0x1p15;

// Relative, of an operand of a matrix unit in that type.
double OperandError(const ScanNumeric& scan, NumberType type);

// The effects of f16 in between: its smallest numbers, and its largest.
void TakeF16(oracle::ScanErrors* errors);

// Requires: profile.scan.
oracle::ScanErrors ScanErrorsOf(const NumericProfile& profile,
                                const Mamba3ScanProblem& problem);

// The outputs of one head of one run, in the order of the trial's outputs.
enum class ScanOutput : uint8_t { kY, kTheta, kH, kK, kV };

// What element i of an output may be. An angle may be any number of turns away:
// `produced` says which.
Bounds ScanBounds(const NumericProfile& profile, Lane lane,
                  const oracle::ScanTruth& truth, ScanOutput output, size_t i,
                  double produced);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_MAMBA3_SCAN_ENVELOPE_H_
