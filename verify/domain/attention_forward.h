// The domain of attention_forward: see domain.h.
#ifndef LOCKSTEP_VERIFY_DOMAIN_ATTENTION_FORWARD_H_
#define LOCKSTEP_VERIFY_DOMAIN_ATTENTION_FORWARD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verify/domain/domain.h"

namespace lockstep::verify {

std::vector<Case> DrawAttentionForward(const OpRow& op, Draw* draw,
                                       const DomainOptions& options);
// The same for an op that has these keys, too; `probes`: now and then the
// inputs of one.
std::vector<Case> DrawAttention(const OpRow& op, Draw* draw,
                                const DomainOptions& options, bool probes);
std::span<const char* const> AttentionForwardFeatures();
FeatureSet AttentionForwardFeaturesOf(const Case& c);
// Of block_plan, too: its masks and payload.
std::vector<std::vector<Case>> ReduceAttentionForward(
    std::span<const Case> sequence, size_t call);

// DomainRow::draw_guards, and what it shares with other ops: one call, without
// order=amx.
std::vector<Case> DrawForwardGuards(const OpRow& op, Draw* draw,
                                    const DomainOptions& options);
std::vector<Case> DrawAttentionGuards(const OpRow& op, Draw* draw,
                                      const DomainOptions& options);

// With DomainOptions::gpu_orders.
std::vector<Case> WithGpuOrders(const DomainOptions& options,
                                std::vector<Case> sequence);

// Of its gradients, too.
std::optional<Case> FurtherAttention(const Case& from, uint64_t number,
                                     int64_t n);
std::optional<Case> ShortAttention(const Case& from, uint64_t number);
std::optional<Case> SmallAttention(const Case& c, int64_t side);

inline constexpr DomainRow kAttentionForwardDomain = {
    &DrawAttentionForward,       &AttentionForwardFeatures,
    &AttentionForwardFeaturesOf, &ReduceAttentionForward,
    &FurtherAttention,           &ShortAttention,
    &DrawForwardGuards,          &SmallAttention};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_ATTENTION_FORWARD_H_
