// The scan's part of the selftest: its mutants and its zoo before the tiers.
#ifndef LOCKSTEP_VERIFY_SELFTEST_SCAN_H_
#define LOCKSTEP_VERIFY_SELFTEST_SCAN_H_

#include <cstdint>
#include <string>

#include "reference/contract/status.h"
#include "verify/mutants.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify {

// A small random mamba3_scan or mamba3_step line, of a lane if one is given:
// every variant, regime, run pattern and carry by chance.
std::string SmallScanLine(uint64_t seed, std::optional<Lane> lane);

// The mutant's pattern under several seeds: envelope and probes of its own
// base, and invariance.
Result<KillRow> TryScanMutant(const MutantInfo& info,
                              const SelftestOptions& options);

// Correct kernels on `cases` small cases, a probe of each; adds to the zoo's
// counts of `result`.
void TryScanZoo(const SelftestOptions& options, int64_t cases,
                SelftestResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_SCAN_H_
