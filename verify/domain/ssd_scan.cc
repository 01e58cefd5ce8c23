#include "verify/domain/ssd_scan.h"

#include <string_view>

#include "verify/domain/features.h"

namespace lockstep::verify {
namespace {

// Features that every ssd_scan has, or none.
constexpr std::string_view kOfMamba3[] = {
    "angles_none",   "angles_all", "siso",         "mimo",
    "mimo_one_rank", "bias_none",  "rotated_bf16", "reduce",
    "norm",          "mix_own",    "rate_own"};

const InheritedFeatures& LeftFeatures() {
  static const InheritedFeatures kFeatures(Mamba3ScanFeatures(), kOfMamba3);
  return kFeatures;
}

}  // namespace

std::span<const char* const> SsdScanFeatures() {
  return LeftFeatures().names();
}

FeatureSet SsdScanFeaturesOf(const Case& c) {
  return LeftFeatures().Of(Mamba3ScanFeaturesOf(c));
}

}  // namespace lockstep::verify
