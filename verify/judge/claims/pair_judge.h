// One pair of calls of a claim, in one size.
#ifndef LOCKSTEP_VERIFY_JUDGE_CLAIMS_PAIR_JUDGE_H_
#define LOCKSTEP_VERIFY_JUDGE_CLAIMS_PAIR_JUDGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/judge/claims/claims.h"
#include "verify/judge/claims/pairs.h"
#include "verify/judge/invariance.h"
#include "verify/ops/claims.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

enum class Found {
  kHeld,
  kDiffers,
  kRefused,  // the kernel does not compute one of the calls
  kNone,     // there is no such pair
  kEnded,    // the kernel broke, or differs from itself
};

class PairJudge {
 public:
  // Borrows all; counts what it compares in `tried`.
  PairJudge(const ClaimRequest& request, const TrialRow& op, const OpClaim& row,
            CaseResult* result, ClaimTried* tried)
      : request_(request),
        candidate_(*request.candidate),
        op_(op),
        row_(row),
        own_length_(op.pairs().length(*request.request->call)),
        result_(result),
        tried_(tried) {}

  // kDiffers: `tried` holds the difference.
  Found Try(const ClaimSize& size);

 private:
  // One pair: the larger call, and the call that is compared with it.
  struct Larger {
    Case request;
    CaseRequest asked;
    std::unique_ptr<Trial> trial;
    OutputSet outputs;
  };
  Found OpenLarger(const ClaimSize& size, Larger* larger);
  Case LongerThan(ClaimSize size) const;
  std::vector<OtherCall> OthersOf(const ClaimSize& size, const LargerCall& at);
  Found RunCall(const CaseRequest& asked, const Trial& trial,
                const OtherCall& call, PoisonBits poison,
                const OutputSet& outputs);
  Found Hold(const Larger& larger, const OtherCall& call, OutputSet* before);
  Found Compare(const Larger& larger, const OtherCall& call,
                const LawCall& made, const OutputSet& produced);
  // Without the lines of which the profile says nothing.
  std::vector<std::vector<LinePair>> Said(
      const Trial& larger, std::vector<std::vector<LinePair>> kept) const;
  bool DiffersFromItself(const CaseRequest& asked, const Trial& trial,
                         const OutputSet& first);

  Result<std::unique_ptr<Trial>> Open(const Case& c, int64_t shift) const {
    MaterialiseOptions options = request_.materialise;
    options.alignment_shift = shift;
    return op_.open(c, options);
  }
  Found SelfError(const std::string& message) {
    result_->findings.push_back(
        {Tier::kSelf, ClaimCheck(tried_->claim), message, "", std::nullopt});
    return Found::kEnded;
  }

  const ClaimRequest& request_;
  Candidate& candidate_;
  const TrialRow op_;
  const OpClaim& row_;
  int64_t own_length_;
  CaseResult* result_;
  ClaimTried* tried_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_CLAIMS_PAIR_JUDGE_H_
