#include "verify/domain/features.h"

#include <algorithm>

namespace lockstep::verify {

InheritedFeatures::InheritedFeatures(std::span<const char* const> names,
                                     std::span<const std::string_view> missing,
                                     std::span<const char* const> own) {
  for (size_t n = 0; n < names.size(); ++n) {
    const std::string_view name = names[n];
    if (std::find(missing.begin(), missing.end(), name) != missing.end()) {
      continue;
    }
    (name.starts_with(kSizeFeature) ? later_ : first_).push_back(n);
  }
  for (const size_t n : first_) names_.push_back(names[n]);
  names_.insert(names_.end(), own.begin(), own.end());
  for (const size_t n : later_) names_.push_back(names[n]);
}

FeatureSet InheritedFeatures::Of(const FeatureSet& all,
                                 const std::vector<bool>& own) const {
  FeatureSet set;
  for (const size_t n : first_) set.has.push_back(all.has[n]);
  set.has.insert(set.has.end(), own.begin(), own.end());
  for (const size_t n : later_) set.has.push_back(all.has[n]);
  return set;
}

}  // namespace lockstep::verify
