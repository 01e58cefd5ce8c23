// The domain of mamba3_scan_backward: see domain.h.
#ifndef LOCKSTEP_VERIFY_DOMAIN_MAMBA3_SCAN_BACKWARD_H_
#define LOCKSTEP_VERIFY_DOMAIN_MAMBA3_SCAN_BACKWARD_H_

#include <span>
#include <vector>

#include "verify/domain/domain.h"
#include "verify/domain/mamba3_scan.h"

namespace lockstep::verify {

std::vector<Case> DrawMamba3ScanBackward(const OpRow& op, Draw* draw,
                                         const DomainOptions& options);
std::span<const char* const> Mamba3ScanBackwardFeatures();
FeatureSet Mamba3ScanBackwardFeaturesOf(const Case& c);
std::vector<std::vector<Case>> ReduceMamba3ScanBackward(
    std::span<const Case> sequence, size_t call);

inline constexpr DomainRow kMamba3ScanBackwardDomain = {
    &DrawMamba3ScanBackward,
    &Mamba3ScanBackwardFeatures,
    &Mamba3ScanBackwardFeaturesOf,
    &ReduceMamba3ScanBackward,
    &FurtherScan,
    &ShortScan,
    nullptr,
    &SmallScan};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_MAMBA3_SCAN_BACKWARD_H_
