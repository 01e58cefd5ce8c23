// The values that the exact probes of attention are made of, and the problems
// they apply to: functions of the problem alone. The elements are in
// verify/inputs, what a profile allows is in verify/allowed.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_PROBE_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_PROBE_H_

#include <cstdint>
#include <string>

#include "reference/contract/attention_forward.h"
#include "verify/case/probe_kind.h"

namespace lockstep::verify {

inline constexpr int kProbeBig = 1024;  // values that a reset must forget

// Whether some keys of the probe have the high score and all others 0;
// otherwise every score is 0.
bool HasHighKeys(ProbeKind kind);

// The one non-zero element of q, a signed power of two: its product with 1 is
// exact, and the score it gives is at least 160, or 20 caps.
double ProbeQueryValue(const AttentionForwardProblem& p);

// The high score in natural units, after the cap.
double ProbeHighScore(const AttentionForwardProblem& p);

// Why the probe proves nothing for this problem, in one line, whatever the
// arithmetic; empty if it applies. Not applicable: nothing there to look at, a
// cap too small to separate the scores, a scale that is 0 or extreme.
std::string WhyNotProbe(ProbeKind kind, const AttentionForwardProblem& problem);

// The channels of q and k that form a probe's scores. With v in k these are the
// channels behind v's. In v's channels q is 0.
int64_t ProbeChannels(const AttentionForwardProblem& p);

// Number of residue classes of comb and thirds: at most one per channel, and a
// prime, so that no tile or page width is a multiple of it.
int64_t ProbeClasses(ProbeKind kind, int64_t channels);

// The unit of holes' q: channels hold +-1 or +-2 of it. A power of two; a lost
// channel parts the scores by 6 to 12, or with a cap c, where they must not
// saturate, by about c / (4 head_dim).
double ProbeHoleUnit(const AttentionForwardProblem& p);

// The one non-zero element of deep's q, a power of two with the sign that makes
// every score (k = 1) lie between -2^21 and -2^20 (natural units).
double ProbeDeepQuery(const AttentionForwardProblem& p);

// The sink of head h in the probe `sink`: the logarithm of 2^(2 - (h mod 12) /
// 2) times the keys, at most 2^18. So heads differ by at least a factor 2^0.5.
double ProbeSinkLogit(const AttentionForwardProblem& p, int64_t h);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_PROBE_H_
