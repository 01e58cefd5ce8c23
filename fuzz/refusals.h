// What a kernel refuses, learned from the cases that it skipped: soon they are
// drawn no more.
#ifndef LOCKSTEP_FUZZ_REFUSALS_H_
#define LOCKSTEP_FUZZ_REFUSALS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/domain/domain.h"

namespace lockstep::fuzz {

// Cases that were left out: by a feature that the kernel refuses, or without
// one, since it refused them when it was asked.
struct LeftOut {
  std::optional<size_t> feature;  // by the domain's list
  std::string reason;             // the kernel's
  int64_t cases = 0;
};

// A feature of a case that was computed is *fine*. A skipped case whose
// features are fine but for one shows that this one is refused beside them. It
// is left out once its reason was given three times, and in no other company,
// since a kernel may compute windows only beside causal. To learn soon, cases
// with several features of which nothing is known are put off after the first
// skip. A reason that was also given to a case of fine features has another
// cause: nothing is learned from it. Each feature is tried from time to time,
// whatever others come with it: a head of 128 channels has two. One case of
// sixteen is tried whatever was learned.
class Refusals {
 public:
  explicit Refusals(size_t features) : features_(features) {}

  // Whether not to try this case.
  bool LeavesOut(const verify::FeatureSet& case_features);
  void Computed(const verify::FeatureSet& case_features);
  // Returns whether the reason is well known by now: the case then counts as
  // left out, not as a case.
  bool Refused(const verify::FeatureSet& case_features,
               const std::string& reason);

  // What was left out, most cases first.
  std::vector<LeftOut> List() const;
  // Cases put off.
  int64_t put_off() const { return put_off_; }

 private:
  struct Feature {
    bool fine = false;
    std::string refused;  // why; empty: it is not known to be
    int64_t left_out = 0;
    int64_t put_off = 0;       // since a case of it was tried
    std::vector<bool> beside;  // the fine features that it was refused beside
  };
  struct Reason {
    std::string words;  // as given first
    int64_t skips = 0;
    int64_t left_out = 0;  // of those
    bool other_cause = false;
  };

  // Tells whether every fine feature of the case was with this one when it was
  // refused.
  bool KnownBeside(const Feature& feature,
                   const verify::FeatureSet& case_features) const;
  // It was not the cause: what was left out for it was put off.
  void Forgive(Feature* feature);
  // Those of which nothing is known, by number.
  std::vector<size_t> Unknown(const verify::FeatureSet& case_features) const;

  std::vector<Feature> features_;
  std::map<std::string, Reason> reasons_;  // by the words, digits aside
  int64_t put_off_ = 0;
  int64_t asked_ = 0;
};

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_REFUSALS_H_
