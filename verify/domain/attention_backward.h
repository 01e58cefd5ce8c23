// The domain of attention_backward: that of attention_forward, with cotangents.
#ifndef LOCKSTEP_VERIFY_DOMAIN_ATTENTION_BACKWARD_H_
#define LOCKSTEP_VERIFY_DOMAIN_ATTENTION_BACKWARD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verify/domain/attention_forward.h"
#include "verify/domain/domain.h"

namespace lockstep::verify {

std::vector<Case> DrawAttentionBackward(const OpRow& op, Draw* draw,
                                        const DomainOptions& options);
std::span<const char* const> AttentionBackwardFeatures();
FeatureSet AttentionBackwardFeaturesOf(const Case& c);
std::vector<std::vector<Case>> ReduceAttentionBackward(
    std::span<const Case> sequence, size_t call);

std::vector<Case> DrawBackwardGuards(const OpRow& op, Draw* draw,
                                     const DomainOptions& options);

std::optional<Case> SmallAttentionBackward(const Case& c, int64_t side);

inline constexpr DomainRow kAttentionBackwardDomain = {
    &DrawAttentionBackward,
    &AttentionBackwardFeatures,
    &AttentionBackwardFeaturesOf,
    &ReduceAttentionBackward,
    &FurtherAttention,
    &ShortAttention,
    &DrawBackwardGuards,
    &SmallAttentionBackward};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_ATTENTION_BACKWARD_H_
