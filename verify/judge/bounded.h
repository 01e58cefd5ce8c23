// The proof tiers of a candidate that claims a numeric profile and no exact
// bits: envelopes on the case's own inputs, exact probes on others.
#ifndef LOCKSTEP_VERIFY_JUDGE_BOUNDED_H_
#define LOCKSTEP_VERIFY_JUDGE_BOUNDED_H_

#include <atomic>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/inputs/materialise.h"
#include "verify/judge/evidence/evidence.h"
#include "verify/judge/verdict.h"
#include "verify/ops/allowed.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Elements of a probe's expectation: above it rows are sampled.
inline constexpr int64_t kProbeElements = int64_t{1} << 23;

struct BoundedRequest {
  Candidate* candidate = nullptr;
  const CaseRequest* request = nullptr;
  const NumericProfile* profile = nullptr;
  const MaterialiseOptions* materialise = nullptr;
  const std::atomic<bool>* stop = nullptr;  // may be null
  // Only these probes, by their lines; null: all.
  const std::vector<std::string>* only = nullptr;
  EvidenceBook* evidence = nullptr;  // may be null
  bool rehearsal = false;  // only makes the calls (verify/judge/rehearsal.h)
};

// The rows of a probe that are judged: all, or where that is too much the ends
// and an even sample.
std::vector<int64_t> ProbeRows(const Trial& trial);

// Adds what `allowed` finds in `produced` to judged and findings of `result`.
// `line`: the case of other inputs; empty: the judged one.
void JudgeByAllowed(const Trial& trial, const AllowedResults& allowed,
                    const OutputSet& produced, Tier tier,
                    const std::string& line, CaseResult* result);

// Whether the trial's own inputs are a probe that proves something; if so it
// judges. `evidence` may be null.
bool JudgeOwnProbe(const Trial& trial, const NumericProfile& profile,
                   const OutputSet& produced, EvidenceBook* evidence,
                   CaseResult* result);

// Runs the candidate on the case's probes, or takes its answers to them, one
// after the other, until one finds something. Adds to checks, judged, power,
// evidence, probes_met, probes_missed, runs and findings.
void JudgeProbes(const BoundedRequest& request, CaseResult* result);

// "o at [b=0 h=1 i=2 c=3]: produced 4, allowed 3": witnesses and counts.
std::string DescribeEnvelope(const OutputSpec& spec,
                             const EnvelopeResult& result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_BOUNDED_H_
