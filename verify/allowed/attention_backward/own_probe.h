// What the o and lse of a kernel's own forward pass may be on the probes
// grad-own-keys and grad-own-queries. There all scores are 0, and every v is
// +-1. So the proof of the forward op's probes holds
// (verify/allowed/attention_forward/probes.h).
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_OWN_PROBE_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_OWN_PROBE_H_

#include <optional>

#include "reference/contract/attention_forward.h"
#include "verify/allowed/attention_forward/probe_weights.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

class OwnForwardProbe {
 public:
  // None: sums are not in f32, or weights of equal scores may differ.
  static std::optional<OwnForwardProbe> Make(
      const AttentionForwardProblem& problem, const NumericProfile& profile);

  // How far from the truth o (before it is rounded to its lane) and the natural
  // lse may be, in a row that sees so many keys, at least one.
  double OfO(double keys, double mean) const;
  double OfLse(double keys) const;

 private:
  OwnForwardProbe(const AttentionForwardProblem& problem,
                  const NumericProfile& profile);
  // A sink is one more key of value 0.
  double WeightSum(double keys) const { return keys + sinks_; }

  NumericProfile profile_;
  TopSlack slack_;
  double sinks_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_BACKWARD_OWN_PROBE_H_
