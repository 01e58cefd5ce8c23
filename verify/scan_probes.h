// Exact probes of scans: inputs on which every legal kernel, recurrent or
// chunked, with bf16 operands or not, gives small integers (or powers of two)
// up to a fraction of their smallest step. Proof and bounds:
// docs/envelopes.md, "Scan probes".
#ifndef LOCKSTEP_VERIFY_SCAN_PROBES_H_
#define LOCKSTEP_VERIFY_SCAN_PROBES_H_

#include <cstdint>
#include <string>

#include "reference/contract/mamba3_scan.h"
#include "verify/envelope_result.h"
#include "verify/inputs_mamba3_scan.h"
#include "verify/oracle/mamba3_scan.h"
#include "verify/probe_kind.h"
#include "verify/scan_envelope.h"

namespace lockstep::verify {

// Why the probe proves nothing for this problem, in one line; empty if it
// does: the output norm divides, more than four ranks exceed bf16's integers,
// an angle that is never reduced grows, there is no angle.
std::string WhyNotScanProbe(ProbeKind kind, const Mamba3ScanProblem& problem);

// Overwrites every tensor of `data`. Requires: the views are made.
void FillScanProbe(ProbeKind kind, uint64_t seed, Mamba3ScanData* data);

// The element as every legal kernel has it, around the truth of an oracle.
ValueSet ScanProbeSet(ProbeKind kind, const Mamba3ScanProblem& problem,
                      const oracle::ScanTruth& truth, ScanOutput output,
                      size_t i, double produced, Rounding rounding);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SCAN_PROBES_H_
