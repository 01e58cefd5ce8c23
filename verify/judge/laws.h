// Laws: a candidate's answers to other inputs, compared with its answer to the
// case's own. They need no truth.
#ifndef LOCKSTEP_VERIFY_JUDGE_LAWS_H_
#define LOCKSTEP_VERIFY_JUDGE_LAWS_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/allowed/result.h"
#include "verify/base/compare.h"
#include "verify/candidate/candidate.h"
#include "verify/judge/verdict.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Multiply-adds of a call above which no envelope is made for a law: binary64
// with bounds takes some 5e7 of them a second.
inline constexpr int64_t kLawEnvelopeWork = int64_t{1} << 24;

struct LawsRequest {
  Candidate* candidate = nullptr;
  const CaseRequest* request = nullptr;
  const Trial* trial = nullptr;
  const OutputSet* base = nullptr;  // what it answered to the case
  // What it claims; null: exact bits.
  const NumericProfile* profile = nullptr;
  uint64_t salt = 0;                        // of all that is drawn
  int64_t most = INT64_MAX;                 // laws; others for another salt
  std::string only;                         // law; empty: any
  int threads = 0;                          // of envelopes; 0: one per core
  const std::atomic<bool>* stop = nullptr;  // may be null
  bool rehearsal = false;  // only makes the calls (verify/judge/rehearsal.h)
};

enum class LawAnswer : uint8_t {
  kAnswered,
  kRefused,  // the outcome says why
  kAbsent,   // of answers from files: there is none
  kBroken,   // findings say how
};
// One call of the law, its outputs poisoned. Adds to runs and findings.
// `may_be_refused`: an exception is a refusal, as in the law.
LawAnswer AskLaw(const LawsRequest& request, const std::string& law,
                 const LawCall& call, bool may_be_refused,
                 const OutputSet& outputs, RunOutcome* outcome,
                 CaseResult* result);

// Adds what was compared for a law to checks and findings. `says`: how a
// finding begins. NoteBits is false where the candidate gives other bits to the
// case itself, too, which it finds.
bool NoteBits(const LawsRequest& request, const std::string& law,
              const std::string& says, const std::vector<Comparison>& compared,
              CaseResult* result);
void NoteBounds(const Trial& trial, const std::string& law,
                const std::string& says, EnvelopeResult found,
                CaseResult* result);

// Runs the candidate on the calls of the trial's laws. Adds to checks
// ("law_NAME"), runs and findings. A law that does not hold for the inputs adds
// nothing.
void JudgeLaws(const LawsRequest& request, CaseResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_LAWS_H_
