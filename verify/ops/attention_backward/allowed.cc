// What a numeric profile allows attention_backward to answer.
#include <string>
#include <vector>

#include "verify/ops/attention_backward/trial.h"

namespace lockstep::verify {

std::vector<Case> AttentionBackwardTrial::ProbeCases(const Case&,
                                                     const NumericProfile&) {
  return {};
}

std::string AttentionBackwardTrial::WhyUndeclared(
    const NumericProfile& profile) const {
  if (!profile.exact) return OpName(case_);
  const Lane lane = data_.problem.forward.lane;
  if (profile.lane && *profile.lane != lane) {
    return std::string("lane=") + LaneName(lane);
  }
  return "";
}

}  // namespace lockstep::verify
