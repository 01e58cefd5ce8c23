#include "fuzz/refusals.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace lockstep::fuzz {
namespace {

constexpr int64_t kSkipsToLearn = 3;
// Cases of a feature that are put off before one is tried all the same.
constexpr int64_t kPatience = 64;
// One case of so many is tried whatever was learned.
constexpr int64_t kUnbiased = 16;

// "window 13" and "window 7" are one reason.
std::string WithoutNumbers(std::string reason) {
  for (char& c : reason) {
    if (std::isdigit(static_cast<unsigned char>(c))) c = '#';
  }
  return reason;
}

}  // namespace

std::vector<size_t> Refusals::Unknown(
    const verify::FeatureSet& case_features) const {
  std::vector<size_t> unknown;
  for (size_t n = 0; n < case_features.has.size(); ++n) {
    if (case_features.has[n] && !features_[n].fine) unknown.push_back(n);
  }
  return unknown;
}

bool Refusals::KnownBeside(const Feature& feature,
                           const verify::FeatureSet& case_features) const {
  for (size_t n = 0; n < feature.beside.size(); ++n) {
    const bool fine = case_features.has[n] && features_[n].fine;
    if (fine && !feature.beside[n]) return false;
  }
  return true;
}

bool Refusals::LeavesOut(const verify::FeatureSet& case_features) {
  if (reasons_.empty() || ++asked_ % kUnbiased == 0) return false;
  const std::vector<size_t> unknown = Unknown(case_features);
  for (const size_t n : unknown) {
    Feature& feature = features_[n];
    if (feature.refused.empty()) continue;
    if (!KnownBeside(feature, case_features)) return false;
    ++feature.left_out;
    return true;
  }
  if (unknown.size() <= 1) return false;
  bool waited = false;
  for (const size_t n : unknown) {
    waited |= ++features_[n].put_off > kPatience;
  }
  if (!waited) {
    ++put_off_;
    return true;
  }
  for (const size_t n : unknown) features_[n].put_off = 0;
  return false;
}

void Refusals::Forgive(Feature* feature) {
  feature->refused.clear();
  put_off_ += std::exchange(feature->left_out, 0);
}

void Refusals::Computed(const verify::FeatureSet& case_features) {
  for (const size_t n : Unknown(case_features)) {
    features_[n].fine = true;
    Forgive(&features_[n]);
  }
}

bool Refusals::Refused(const verify::FeatureSet& case_features,
                       const std::string& reason) {
  Reason& known = reasons_[WithoutNumbers(reason)];
  if (known.skips++ == 0) known.words = reason;
  const bool left_out = known.skips > kSkipsToLearn;
  known.left_out += left_out ? 1 : 0;
  const std::vector<size_t> unknown = Unknown(case_features);
  if (unknown.empty()) {
    known.other_cause = true;
    for (Feature& feature : features_) {
      if (feature.refused == known.words) Forgive(&feature);
    }
  }
  if (unknown.size() != 1) return left_out;
  Feature& feature = features_[unknown[0]];
  feature.beside.resize(features_.size());
  for (size_t n = 0; n < features_.size(); ++n) {
    if (case_features.has[n] && features_[n].fine) feature.beside[n] = true;
  }
  if (!known.other_cause && known.skips >= kSkipsToLearn) {
    feature.refused = known.words;
  }
  return left_out;
}

std::vector<LeftOut> Refusals::List() const {
  std::vector<LeftOut> list;
  for (size_t n = 0; n < features_.size(); ++n) {
    const Feature& feature = features_[n];
    if (feature.left_out == 0) continue;
    list.push_back({n, feature.refused, feature.left_out});
  }
  for (const auto& [key, reason] : reasons_) {
    if (reason.left_out == 0) continue;
    list.push_back({std::nullopt, reason.words, reason.left_out});
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.cases > b.cases;
  });
  return list;
}

}  // namespace lockstep::fuzz
