// The domain of attention_merge: see domain.h.
#ifndef LOCKSTEP_VERIFY_DOMAIN_ATTENTION_MERGE_H_
#define LOCKSTEP_VERIFY_DOMAIN_ATTENTION_MERGE_H_

#include <optional>
#include <span>
#include <vector>

#include "verify/domain/domain.h"

namespace lockstep::verify {

std::vector<Case> DrawAttentionMerge(const OpRow& op, Draw* draw,
                                     const DomainOptions& options);
std::span<const char* const> AttentionMergeFeatures();
FeatureSet AttentionMergeFeaturesOf(const Case& c);
std::vector<std::vector<Case>> ReduceAttentionMerge(
    std::span<const Case> sequence, size_t call);
// Of further draws: lse far apart, far from 0, or equal; parts that saw no key.
std::optional<Case> FurtherMerge(const Case& c, uint64_t number, int64_t n);
// Rows alone are long.
std::optional<Case> ShortMerge(const Case& c, uint64_t number);
std::optional<Case> SmallMerge(const Case& c, int64_t side);

inline constexpr DomainRow kAttentionMergeDomain = {&DrawAttentionMerge,
                                                    &AttentionMergeFeatures,
                                                    &AttentionMergeFeaturesOf,
                                                    &ReduceAttentionMerge,
                                                    &FurtherMerge,
                                                    &ShortMerge,
                                                    nullptr,
                                                    &SmallMerge};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_ATTENTION_MERGE_H_
