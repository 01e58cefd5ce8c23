// The domain of ssd_scan: that of mamba3_scan, as far as Mamba-2 has its keys.
#ifndef LOCKSTEP_VERIFY_DOMAIN_SSD_SCAN_H_
#define LOCKSTEP_VERIFY_DOMAIN_SSD_SCAN_H_

#include <span>

#include "verify/domain/domain.h"
#include "verify/domain/mamba3_scan.h"

namespace lockstep::verify {

std::span<const char* const> SsdScanFeatures();
FeatureSet SsdScanFeaturesOf(const Case& c);

// What is drawn or tried of the keys that the op does not have is gone with the
// case's line (NormalForm).
inline constexpr DomainRow kSsdScanDomain = {
    &DrawMamba3,   &SsdScanFeatures, &SsdScanFeaturesOf,
    &ReduceMamba3, &FurtherScan,     &ShortScan,
    nullptr,       &SmallScan};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_SSD_SCAN_H_
