// The selftest's row of ssd_scan: its bugs, and every correct kernel of a scan,
// which is right where tau is +infinity, too.
#include <cstdint>
#include <vector>

#include "verify/case/mamba3_scan/case.h"
#include "verify/domain/domain.h"
#include "verify/registry/ops.h"
#include "verify/selftest/mamba3_scan.h"
#include "verify/selftest/row.h"

namespace lockstep::verify {
namespace {

constexpr const char* kSsdScan = "ssd_scan";

std::vector<const MutantInfo*> SsdMutants() {
  return MutantsOf(
      [](const MutantInfo& info) { return info.op() == kSsdScan; });
}

// More tokens of a long case: as many as people run.
constexpr int64_t kLeastLong = 1000;
constexpr uint64_t kLongRange = 3000;

Result<Case> DrawSsdScan(const NumericProfile& profile, uint64_t seed,
                         int64_t number) {
  Result<Case> c = PlainCase(*FindDomain(kSsdScan).value(), seed, profile.lane);
  if (!c.ok() || !IsLong(number)) return c;
  auto& scan = c->Get<Mamba3ScanCase>();
  const auto more = kLeastLong + static_cast<int64_t>(seed % kLongRange);
  scan.problem.length += more;
  for (auto& row : scan.seg.rows) row.back().length += more;
  return c;
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
