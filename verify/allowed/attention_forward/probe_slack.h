// How far from the exact answer to a probe a legal kernel may be: the part of
// the probes' proof that depends on the declared arithmetic. The inputs and the
// exact answers are in probes.h.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBE_SLACK_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBE_SLACK_H_

#include <string>

#include "reference/contract/attention_forward.h"
#include "verify/allowed/attention_forward/probe_weights.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// What is the same for all rows of a problem under a profile.
struct ProbeSlack {
  TopSlack zero;  // of rows without a high key: all scores are 0
  TopSlack high;  // of rows with one
};
ProbeSlack MakeProbeSlack(const AttentionForwardProblem& problem,
                          const NumericProfile& profile);

// Why the probe proves nothing for this problem or under this profile, in one
// line; empty if it applies. Not applicable, beside what the problem excludes:
// sums not in f32, weights of equal scores that may round apart or leave their
// type.
std::string WhyNotProbe(ProbeKind kind, const AttentionForwardProblem& problem,
                        const NumericProfile& profile);

// Errors beyond those of probe_weights.h.
struct ProbeTie {
  double relative = 0;  // of the row's mean
  double absolute = 0;  // in parts of the mean |v|
  // The same, from sums of numerators; 0 while sum |v| is below 2^(24 - bits),
  // because weights of so many bits leave them exact.
  double value_sum = 0;
  int bits = 24;
};

// Of keys whose scores are tied, but formed as sums that may round: holes,
// where the scale is rounded into q. `score`: |score|, natural units, after the
// cap; `n`: how many keys.
ProbeTie MakeProbeTie(ProbeKind kind, const AttentionForwardProblem& problem,
                      const NumericProfile& profile, double score, double n);

// Of n keys beside a sink of finite logit: weights are no powers of two then.
// `distance`: |logit - score| + |score|.
ProbeTie MakeProbeSinkTie(const NumericProfile& profile,
                          const AttentionForwardProblem& problem,
                          double distance, double n);

// Largest error of the scores of keys that share one, natural units: what
// cancels between equal scores but shows in lse and beside a sink.
double ProbeScoreError(ProbeKind kind, const AttentionForwardProblem& problem,
                       const NumericProfile& profile, double score);

// Largest error of a sink's logit, beside keys at that distance from it.
double ProbeSinkError(const NumericProfile& profile, double logit,
                      double distance);

// Largest error of lse = score + log(l) beyond that of the score and of l.
double ProbeLseError(const NumericProfile& profile, double score, double log_l);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBE_SLACK_H_
