#include "verify/selftest/mamba3_scan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/candidate/mutant_mamba3_scan.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// A scan that reads no tau is right where it is +infinity.
Result<Case> DrawScan(const NumericProfile& profile, uint64_t seed,
                      int64_t number) {
  const std::string line = IsLong(number) ? LongScanLine(seed, profile.lane)
                                          : SmallScanLine(seed, profile.lane);
  Result<Case> c = ParseCase(line);
  const Result<ScanVariant> variant = FindScanVariant(profile.name);
  if (c.ok() && variant.ok() && variant->ssd) {
    c->Get<Mamba3ScanCase>().tau =
        FillTerm{.kind = FillKind::kConst,
                 .a = {std::numeric_limits<double>::infinity()}};
  }
  return c;
}

}  // namespace

Result<Subject> OpenScanMutant(const MutantInfo& info, BugBase) {
  ASSIGN_OR_RETURN(const Mutant mutant, ParseMutant(info.name));
  return Subject{
      MakeEmulatedScan("mutant", info.name, mutant.scan, mutant.scan_dial),
      mutant.scan.numeric};
}

std::vector<std::string> ScanZooNames() { return NamesOfZoo(ScanZoo()); }

Result<Subject> OpenScanVariant(const std::string& name) {
  ASSIGN_OR_RETURN(const ScanVariant variant, FindScanVariant(name));
  return Subject{MakeEmulatedScan("variant", name, variant, {}),
                 variant.numeric};
}

const SelftestRow kMamba3ScanSelftest = {
    .op = "mamba3_scan",
    .mutants =
        [] {
          return MutantsOf([](const MutantInfo& info) {
            return info.scan() && info.op().starts_with("mamba3_");
          });
        },
    .mutant = &OpenScanMutant,
    .zoo = &ScanZooNames,
    .correct = &OpenScanVariant,
    .draw = &DrawScan,
    .fewer = 2,
};

}  // namespace lockstep::verify
