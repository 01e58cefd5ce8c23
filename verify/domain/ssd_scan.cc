#include "verify/domain/ssd_scan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <vector>

namespace lockstep::verify {
namespace {

// Features that every ssd_scan has, or none.
constexpr std::string_view kOfMamba3[] = {
    "angles_none",   "angles_all", "siso",         "mimo",
    "mimo_one_rank", "bias_none",  "rotated_bf16", "reduce",
    "norm",          "mix_own",    "rate_own"};

// The places of the others.
const std::vector<size_t>& Kept() {
  static const std::vector<size_t> kKept = [] {
    std::vector<size_t> kept;
    const auto names = Mamba3ScanFeatures();
    for (size_t n = 0; n < names.size(); ++n) {
      if (std::find(std::begin(kOfMamba3), std::end(kOfMamba3), names[n]) ==
          std::end(kOfMamba3)) {
        kept.push_back(n);
      }
    }
    return kept;
  }();
  return kKept;
}

}  // namespace

std::span<const char* const> SsdScanFeatures() {
  static const std::vector<const char*> kScanFeaturesLeft = [] {
    std::vector<const char*> names;
    for (const size_t n : Kept()) names.push_back(Mamba3ScanFeatures()[n]);
    return names;
  }();
  return kScanFeaturesLeft;
}

FeatureSet SsdScanFeaturesOf(const Case& c) {
  const FeatureSet all = Mamba3ScanFeaturesOf(c);
  FeatureSet set;
  for (const size_t n : Kept()) set.has.push_back(all.has[n]);
  return set;
}

}  // namespace lockstep::verify
