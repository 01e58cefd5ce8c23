// The problems that the exact probes of scans apply to.
#ifndef LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_PROBE_H_
#define LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_PROBE_H_

#include <string>

#include "reference/contract/mamba3_scan.h"
#include "verify/case/probe_kind.h"

namespace lockstep::verify {

// integrate, forget and triples, whose sums are integers.
bool ScanProbeOfIntegers(ProbeKind kind);

// Why the probe proves nothing for this problem, in one line; empty if it
// does: more than four ranks exceed bf16's integers, there is no angle.
std::string WhyNotScanProbe(ProbeKind kind, const Mamba3ScanProblem& problem);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_PROBE_H_
