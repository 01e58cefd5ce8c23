// Opens the mutants and the zoo of scans, and draws the zoo's cases.
#ifndef LOCKSTEP_VERIFY_SELFTEST_MAMBA3_SCAN_H_
#define LOCKSTEP_VERIFY_SELFTEST_MAMBA3_SCAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/emulator/mutants.h"
#include "verify/selftest/row.h"

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

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_MAMBA3_SCAN_H_
