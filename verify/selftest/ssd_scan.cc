// The selftest's row of ssd_scan: its bugs, and every correct kernel of a scan,
// which is right where tau is +infinity, too.
#include <cstdint>
#include <vector>

#include "verify/domain/domain.h"
#include "verify/registry/ops.h"
#include "verify/selftest/lengths/cases.h"
#include "verify/selftest/mamba3_scan.h"
#include "verify/selftest/row.h"

namespace lockstep::verify {
namespace {

constexpr const char* kSsdScan = "ssd_scan";

std::vector<const MutantInfo*> SsdMutants() {
  return MutantsOf(
      [](const MutantInfo& info) { return info.op() == kSsdScan; });
}

// Tokens of a long case: as many as people run.
constexpr int64_t kLeastLong = 1000;
constexpr uint64_t kLongRange = 3000;

Result<Case> DrawSsdScan(const NumericProfile& profile, int64_t keys,
                         uint64_t seed, int64_t number) {
  if (keys == 0 && IsLong(number)) {
    keys = kLeastLong + static_cast<int64_t>(seed % kLongRange);
  }
  if (keys > 0) return ParseCase(ScanLineAt(kSsdScan, seed, keys, profile));
  return TameCase(*FindDomain(kSsdScan).value(), seed, profile.lane);
}

}  // namespace

const SelftestRow kSsdScanSelftest = {
    .op = kSsdScan,
    .mutants = &SsdMutants,
    .mutant = &OpenScanMutant,
    .zoo = &ScanZooNames,
    .correct = &OpenScanVariant,
    .draw = &DrawSsdScan,
    .fewer = 2,
};

}  // namespace lockstep::verify
