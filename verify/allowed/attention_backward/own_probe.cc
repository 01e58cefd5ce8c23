#include "verify/allowed/attention_backward/own_probe.h"

#include <cmath>

#include "verify/allowed/attention_forward/probe_slack.h"
#include "verify/allowed/rounding.h"
#include "verify/base/binary64.h"

namespace lockstep::verify {
namespace {

// The oracle's own sums and logarithm.
constexpr double kOwn = 0x1p-40;

}  // namespace

OwnForwardProbe::OwnForwardProbe(const AttentionForwardProblem& problem,
                                 const NumericProfile& profile)
    : profile_(profile),
      slack_(MakeTopSlack(0, problem, profile)),
      sinks_(problem.sink ? 1 : 0) {}

std::optional<OwnForwardProbe> OwnForwardProbe::Make(
    const AttentionForwardProblem& problem, const NumericProfile& profile) {
  const bool known = profile.exp_zero == ExpZero::kExact &&
                     profile.max.kind != MaxPolicy::Kind::kFixed;
  // The same sums as that probe has.
  if (!known || !WhyNotProbe(ProbeKind::kCancel, problem, profile).empty()) {
    return std::nullopt;
  }
  return OwnForwardProbe(problem, profile);
}

double OwnForwardProbe::OfO(double keys, double mean) const {
  if (keys == 1 && sinks_ == 0 && std::isfinite(slack_.lone)) {
    return std::fabs(mean) * (slack_.lone + kOwn) * kRoundUp;
  }
  const double sum = WeightSum(keys);
  const ProbeError sums = slack_.For({keys, sum, keys});
  return (std::fabs(mean) * (sums.relative + kOwn) +
          (sums.absolute + kOwn) * keys / sum) *
         kRoundUp;
}

double OwnForwardProbe::OfLse(double keys) const {
  const ProbeError sums = slack_.For({keys, keys, 0});
  const double of_l = sums.relative - slack_.common;
  // Of l within 1 - x the logarithm is within 2 x, for x below 1/2.
  if (!(of_l < 0.5)) return kInf;
  const double log = LogDouble(WeightSum(keys));
  return (ProbeLseError(profile_, 0, log) + 2 * of_l + kOwn) * kRoundUp;
}

}  // namespace lockstep::verify
