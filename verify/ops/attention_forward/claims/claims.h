// The pairs of calls of attention's claims, and what those of its gradients
// share with them.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_CLAIMS_CLAIMS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_CLAIMS_CLAIMS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"
#include "verify/inputs/attention_forward/pick.h"
#include "verify/ops/claims.h"

namespace lockstep::verify {

// Sizes of a case of attention. The case's own are those of the line, whatever
// it says; others have no valid counts and dense strides.
int64_t AttentionClaimLength(const Case& c);
bool AttentionClaimGrows(const Case& c);
int64_t AttentionClaimWork(const Case& c);
// As many keys as that; queries, as far as there are so many.
Result<Case> AttentionOfLength(const Case& c, const ClaimSize& size);
Result<Case> AttentionOfBatch(const Case& c, const ClaimSize& size);
Result<Case> AttentionOfHeads(const Case& c, const ClaimSize& size);
Result<Case> AttentionOfPadding(const Case& c, const ClaimSize& size);
// As many queries as keys, which look back.
Result<Case> AttentionPrefill(const Case& c, const ClaimSize& size);
std::vector<int64_t> AttentionBatches(const Case& c, int64_t length);
std::vector<int64_t> AttentionHeads(const Case& c, int64_t length);
std::vector<int64_t> AttentionPaddings(const Case& c, int64_t length);
std::vector<int64_t> AttentionChunks(const Case& c, int64_t length);
std::string WhyNoPadding(const Case& c);
std::string WhyNoPrefill(const Case& c);

// A part of a call: what it is, and where its inputs come from.
struct AttentionPart {
  std::string what;
  AttentionPick pick;
};
std::vector<AttentionPart> BatchParts(const AttentionForwardData& whole);
std::vector<AttentionPart> HeadParts(const AttentionForwardData& whole);
std::vector<AttentionPart> PaddingParts(const AttentionForwardData& whole,
                                        int64_t padding);

// Lines of queries, ascending: those of the part, and of the larger call.
std::vector<LinePair> QueryLines(const AttentionForwardProblem& p,
                                 const AttentionPick& pick);

class AttentionForwardTrial;  // verify/ops/attention_forward/trial.h
// The call on picked inputs of the whole, and the lines of it that they have.
// `change`: of these inputs, where they are to be others. Errors: memory.
Result<LawCall> AttentionCallOf(
    const AttentionForwardTrial& whole, const AttentionPick& pick,
    const std::function<void(AttentionForwardData*)>& change = nullptr);

const OpClaims& AttentionForwardClaims();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_CLAIMS_CLAIMS_H_
