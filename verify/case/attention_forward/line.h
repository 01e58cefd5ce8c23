// The keys of attention_forward case lines: one table drives parsing, both
// printed forms, the defaults and the error messages.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_LINE_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_LINE_H_

#include <cstdint>
#include <span>
#include <string>

#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/keys.h"

namespace lockstep::verify {

// In canonical order.
std::span<const CaseKey> AttentionForwardKeys();

// Of its row, below.  Requires: an attention_forward case.
Status ValidateAttentionForward(const Case& c);
int64_t AttentionForwardBytes(const Case& c);
bool AttentionForwardNamesFiles(const Case& c);
std::string WhyNotAttentionForwardProbe(ProbeKind probe, const Case& c);

inline constexpr CaseRow kAttentionForwardText = {
    "attention_forward",
    "softcap attention with masks, forward",
    &AttentionForwardKeys,
    &MakeValues<AttentionForwardCase>,
    &ValidateAttentionForward,
    &AttentionForwardBytes,
    &AttentionForwardNamesFiles,
    [](const Case& c) { return ProbeOf(c.Get<AttentionForwardCase>()); },
    [](Case* c) { DropProbe(&c->Get<AttentionForwardCase>().fill); },
    &WhyNotAttentionForwardProbe,
    [](Lane lane, Case* c) { c->Get<AttentionForwardCase>().lane = lane; },
    ShardBit(ShardAxis::kHeads) | ShardBit(ShardAxis::kKv) |
        ShardBit(ShardAxis::kQueries) | ShardBit(ShardAxis::kRing)};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_LINE_H_
