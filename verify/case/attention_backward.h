// What an attention_backward case says: an attention_forward case, whose o and
// lse the op is given, and cotangents. Keys: docs/cases.md.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_BACKWARD_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_BACKWARD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/attention_backward.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/line.h"
#include "verify/case/case.h"
#include "verify/case/keys.h"

namespace lockstep::verify {

struct AttentionBackwardCase
    : OpValuesAs<AttentionBackwardCase, AttentionForwardCase> {
  Lane grad_lane = Lane::kF32;  // of dq, dk and dv
  std::vector<FillTerm> d_o = {FillTerm{FillKind::kNormal, kFillAll, {1.0}}};
  std::optional<FillTerm> dlse;
  friend bool operator==(const AttentionBackwardCase&,
                         const AttentionBackwardCase&) = default;
};

// The static problem. Requires: ValidateCase passes for a meaningful one.
AttentionBackwardProblem ToBackwardProblem(const AttentionBackwardCase& c);

// In canonical order: the keys of attention_forward without `order`, `split`
// and `page`, and three more.
std::span<const CaseKey> AttentionBackwardKeys();

// Of its row, below.  Requires: an attention_backward case.
Status ValidateAttentionBackward(const Case& c);
int64_t AttentionBackwardBytes(const Case& c);
bool AttentionBackwardNamesFiles(const Case& c);
std::string WhyNotAttentionBackwardProbe(ProbeKind probe, const Case& c);
// The case with ordinary q, k and v in place of a probe's.
Case WithoutGradProbe(const Case& c);
void SetAttentionBackwardLane(Lane lane, Case* c);

inline constexpr CaseRow kAttentionBackwardText = {
    "attention_backward",
    "the gradients of attention_forward",
    &AttentionBackwardKeys,
    &MakeValues<AttentionBackwardCase>,
    &ValidateAttentionBackward,
    &AttentionBackwardBytes,
    &AttentionBackwardNamesFiles,
    [](const Case& c) { return ProbeOf(c.Get<AttentionForwardCase>()); },
    [](Case* c) { DropProbe(&c->Get<AttentionForwardCase>().fill); },
    &WhyNotAttentionBackwardProbe,
    &SetAttentionBackwardLane,
    ShardBit(ShardAxis::kHeads)};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_BACKWARD_H_
