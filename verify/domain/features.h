// Features by name: an op's list of names is all there is.
#ifndef LOCKSTEP_VERIFY_DOMAIN_FEATURES_H_
#define LOCKSTEP_VERIFY_DOMAIN_FEATURES_H_

#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "verify/case/fill.h"
#include "verify/domain/domain.h"

namespace lockstep::verify {

// A feature of the list `names`. A name that is not in it does not compile.
template <const auto& names>
struct FeatureOf {
  // NOLINTNEXTLINE(google-explicit-constructor): a name is the feature
  consteval FeatureOf(const char* name) {
    while (std::string_view(names[bit]) != name) ++bit;
  }
  size_t bit = 0;
};

// What the names of features that are lengths, or sizes of heads, begin with: a
// summary names those that were not met.
inline constexpr std::string_view kSizeFeature = "size_";

// Collects the features of a case. Names and their order are written into
// campaigns: `names` only grows at its end.
template <const auto& names>
class FeatureFinder {
 protected:
  using Feature = FeatureOf<names>;

  FeatureFinder() { set_.has.resize(std::size(names)); }

  void Set(Feature feature, bool has) {
    if (has) set_.has[feature.bit] = true;
  }
  // "fill_" and the family's name; many families are features of some ops only.
  void SetFill(FillKind kind) {
    constexpr std::string_view kPrefix = "fill_";
    for (size_t n = 0; n < set_.has.size(); ++n) {
      const std::string_view name = names[n];
      if (name.starts_with(kPrefix) &&
          name.substr(kPrefix.size()) == FamilyOf(kind).name) {
        set_.has[n] = true;
      }
    }
  }
  FeatureSet& found() { return set_; }

 private:
  FeatureSet set_;
};

// An op's features where most are another op's: the other's come first, then
// its own, then the other's sizes, which came later.
class InheritedFeatures {
 public:
  // `missing`: of `names`, those that every case of the op has, or none.
  InheritedFeatures(std::span<const char* const> names,
                    std::span<const std::string_view> missing,
                    std::span<const char* const> own = {});

  std::span<const char* const> names() const { return names_; }
  // `all`: of the other op's names. Requires: as many `own` as there are.
  FeatureSet Of(const FeatureSet& all, const std::vector<bool>& own = {}) const;

 private:
  std::vector<size_t> first_, later_;  // places in the other's names
  std::vector<const char*> names_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_FEATURES_H_
