// The scan's part of the selftest: its mutants, and a case of its zoo, before
// the tiers.
#ifndef LOCKSTEP_VERIFY_SELFTEST_MAMBA3_SCAN_H_
#define LOCKSTEP_VERIFY_SELFTEST_MAMBA3_SCAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/emulator/mutants.h"
#include "verify/selftest/row.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify {

// Of the rows of scans: a bug in the kernel that the catalogue names, and the
// correct kernels.
Result<Subject> OpenScanMutant(const MutantInfo& info, BugBase base);
std::vector<std::string> ScanZooNames();
Result<Subject> OpenScanVariant(const std::string& name);

// A small random mamba3_scan or mamba3_step line, of a lane if one is given:
// every variant, regime, run pattern and carry by chance.
std::string SmallScanLine(uint64_t seed, std::optional<Lane> lane);

// The same at 1000 to 4100 tokens, with small states.
std::string LongScanLine(uint64_t seed, std::optional<Lane> lane);

// Whether a scan's mutant computes something else, not only less precisely, at
// any length.
bool IsStructural(const MutantInfo& info);

// The mutant's pattern at a length that people run: as many tokens, and what
// was ragged or odd still is; runs end where they ended within a chunk.
// Requires: a mutant of a scan.
Result<Case> ScanCaseAt(const MutantInfo& info, int64_t length);

// That case under one seed, before the probes, and where they find nothing,
// before the envelope.
Result<KillRow> TryScanMutantAt(const MutantInfo& info, int64_t length,
                                uint64_t seed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_MAMBA3_SCAN_H_
