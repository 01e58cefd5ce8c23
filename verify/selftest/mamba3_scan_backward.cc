// The selftest's row of a scan's gradients.
#include <cstdint>
#include <string>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/candidate/mutant_mamba3_scan_backward.h"
#include "verify/domain/domain.h"
#include "verify/registry/ops.h"
#include "verify/selftest/row.h"

namespace lockstep::verify {
namespace {

constexpr const char* kScanBackward = "mamba3_scan_backward";

Subject ScanSubject(const char* kind, const std::string& spec,
                    const ScanGradVariant& variant, ScanGradFault fault) {
  return {MakeEmulatedScanGradients(kind, spec, variant, fault),
          variant.scan.numeric};
}

Result<Case> DrawScanBackward(const NumericProfile& profile, uint64_t seed,
                              int64_t) {
  return PlainCase(*FindDomain(kScanBackward).value(), seed, profile.lane);
}

}  // namespace

const SelftestRow kMamba3ScanBackwardSelftest = {
    .op = kScanBackward,
    .mutants = [] { return MutantsOf(&MutantInfo::scan_gradients); },
    .mutant = [](const MutantInfo& info, BugBase) -> Result<Subject> {
      ASSIGN_OR_RETURN(const Mutant mutant, ParseMutant(info.name));
      return ScanSubject("mutant", info.name, mutant.scan_grad,
                         info.PointOf<ScanGradFault>());
    },
    .zoo = [] { return NamesOfZoo(ScanGradZoo()); },
    .correct = [](const std::string& name) -> Result<Subject> {
      ASSIGN_OR_RETURN(const ScanGradVariant variant,
                       FindScanGradVariant(name));
      return ScanSubject("variant", name, variant, ScanGradFault::kNone);
    },
    .draw = &DrawScanBackward,
    .fewer = 4,
};

}  // namespace lockstep::verify
