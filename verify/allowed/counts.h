// Counts and witnesses of one output tensor before sets of allowed values.
#ifndef LOCKSTEP_VERIFY_ALLOWED_COUNTS_H_
#define LOCKSTEP_VERIFY_ALLOWED_COUNTS_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "reference/contract/tensor_view.h"
#include "verify/allowed/result.h"

namespace lockstep::verify {

// Takes one element after the other.
class EnvelopeJudge {
 public:
  // `each`: called for every element; may be null.
  EnvelopeJudge(std::string tensor, int64_t expected, Lane lane,
                const ElementSink* each = nullptr)
      : lane_(LaneRowOf(lane)), each_(each) {
    result_.tensor = std::move(tensor);
    result_.expected = expected;
  }

  void Add(const std::array<int64_t, 4>& index, double x,
           const Bounds& bounds) {
    if (each_ != nullptr && *each_) {
      (*each_)(result_.tensor, {index, x, bounds, Distance(x, bounds)});
    }
    if (!bounds.allowed.Contains(x)) {
      AddOutside(index, x, bounds);
      return;
    }
    if (bounds.allowed.Unbounded()) {
      ++result_.unbounded;
      result_.unclaimed += bounds.unclaimed ? 1 : 0;
      return;
    }
    if (bounds.vacuous) {
      ++result_.vacuous;
      return;
    }
    ++result_.inside;
    if (!bounds.likely.Contains(x)) ++result_.unlikely;
    result_.worst = std::max(result_.worst, Distance(x, bounds));
  }

  EnvelopeResult Finish(CauseAmounts shares) {
    double total = 0;
    for (const double share : shares) total += share;
    for (size_t i = 0; i < kCauses; ++i) {
      result_.shares[i] = total > 0 ? shares[i] / total : 0;
    }
    return result_;
  }

 private:
  // |x - truth| without the last rounding, in units of the bound; infinite for
  // what has no distance.
  double Distance(double x, const Bounds& bounds) const {
    const double half_ulp =
        std::max(lane_.roundoff * std::fabs(bounds.truth), lane_.smallest / 2);
    const double apart = std::fabs(x - bounds.truth) - half_ulp;
    if (x == bounds.truth || apart <= 0) return 0;
    return apart > 0 && bounds.error > 0 ? apart / bounds.error : HUGE_VAL;
  }

  void AddOutside(const std::array<int64_t, 4>& index, double x,
                  const Bounds& bounds) {
    ++result_.outside;
    const EnvelopeWitness witness{index, x, bounds};
    if (!result_.first) result_.first = witness;
    const double distance = Distance(x, bounds);
    if (!result_.furthest || distance > furthest_) {
      result_.furthest = witness;
      furthest_ = distance;
    }
    result_.worst = std::max(result_.worst, distance);
  }

  const LaneRow& lane_;
  const ElementSink* each_;
  EnvelopeResult result_;
  double furthest_ = 0;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_COUNTS_H_
