#include "verify/judge/rules/foreign_rules.h"

#include <algorithm>
#include <cmath>

namespace lockstep::verify {
namespace {

struct Sums {
  bool same_specials = true;
  bool allclose = true;
  bool ulp = true;
  double error2 = 0, truth2 = 0, produced2 = 0, product = 0;
  double worst = 0, baseline_worst = 0;
};

// One unit in the last place of `x` in the lane.
double UlpAt(double x, Lane lane) {
  const int digits = LaneRowOf(lane).digits - 1;
  const int least = LaneRowOf(lane).min_exponent;
  const int exponent = x == 0 ? least : std::max(std::ilogb(x), least);
  return std::ldexp(1.0, exponent - digits);
}

Sums Collect(const RuleInput& in) {
  Sums sums;
  const double rtol = in.lane == Lane::kF32   ? 1.3e-6
                      : in.lane == Lane::kF16 ? 1e-3
                                              : 1.6e-2;
  for (size_t i = 0; i < in.truth.size(); ++i) {
    const double t = in.truth[i];
    const double x = in.produced[i];
    if (!std::isfinite(t) || !std::isfinite(x)) {
      const bool same = t == x || (std::isnan(t) && std::isnan(x));
      sums.same_specials = sums.same_specials && same;
      continue;
    }
    const double error = std::fabs(x - t);
    sums.allclose = sums.allclose && error <= 1e-5 + rtol * std::fabs(t);
    sums.ulp = sums.ulp && error <= 4.5 * UlpAt(t, in.lane);
    sums.error2 += error * error;
    sums.truth2 += t * t;
    sums.produced2 += x * x;
    sums.product += x * t;
    sums.worst = std::max(sums.worst, error);
    if (!in.baseline.empty() && std::isfinite(in.baseline[i])) {
      sums.baseline_worst =
          std::max(sums.baseline_worst, std::fabs(in.baseline[i] - t));
    }
  }
  return sums;
}

}  // namespace

const char* ForeignRuleName(ForeignRule rule) {
  constexpr const char* kNames[] = {"allclose", "nmse", "baseline3x", "cosine",
                                    "max_ulp"};
  return kNames[static_cast<size_t>(rule)];
}

std::array<bool, kForeignRules> PassesForeignRules(const RuleInput& input) {
  const Sums s = Collect(input);
  const double norms = std::sqrt(s.truth2 * s.produced2);
  const std::array<bool, kForeignRules> passes = {
      s.allclose, s.error2 <= 5e-4 * s.truth2,
      s.worst <= 3 * s.baseline_worst + 1e-5,
      (s.truth2 == 0 && s.produced2 == 0) || s.product >= 0.999 * norms, s.ulp};
  std::array<bool, kForeignRules> result{};
  for (size_t r = 0; r < kForeignRules; ++r) {
    result[r] = passes[r] && s.same_specials;
  }
  return result;
}

}  // namespace lockstep::verify
