// The inputs of the exact probes of scans; what they are for:
// verify/allowed/mamba3_scan/probes.h.
#ifndef LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_PROBE_H_
#define LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_PROBE_H_

#include <cstdint>

#include "verify/case/probe_kind.h"
#include "verify/inputs/mamba3_scan.h"

namespace lockstep::verify {

// Overwrites every tensor of `data`. `ssd`: tau is +infinity.
//   Requires: the views are made.
void FillScanProbe(ProbeKind kind, uint64_t seed, bool ssd,
                   Mamba3ScanData* data);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_PROBE_H_
