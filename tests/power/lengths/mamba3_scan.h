// Known bugs of scans at the lengths that people run.
#ifndef LOCKSTEP_TESTS_POWER_LENGTHS_MAMBA3_SCAN_H_
#define LOCKSTEP_TESTS_POWER_LENGTHS_MAMBA3_SCAN_H_

#include <cstdint>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/emulator/mutants.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify {

// Tells whether a scan's mutant computes something else, not only less
// precisely, at any length.
bool IsStructural(const MutantInfo& info);

// Stretches the mutant's pattern to a length that people run. What was ragged
// or odd still is, and runs end where they ended within a chunk. Requires: a
// mutant of a scan.
Result<Case> ScanCaseAt(const MutantInfo& info, int64_t length);

// Puts that case under one seed before the probes, and where they find nothing,
// before the envelope.
Result<KillRow> TryScanMutantAt(const MutantInfo& info, int64_t length,
                                uint64_t seed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_LENGTHS_MAMBA3_SCAN_H_
