// The domain of block_plan: see domain.h.
#ifndef LOCKSTEP_VERIFY_DOMAIN_BLOCK_PLAN_H_
#define LOCKSTEP_VERIFY_DOMAIN_BLOCK_PLAN_H_

#include <cstddef>
#include <span>
#include <vector>

#include "verify/domain/domain.h"

namespace lockstep::verify {

// `lane` says nothing here: plans have no numbers.
std::vector<Case> DrawBlockPlan(const OpRow& op, Draw* draw,
                                const DomainOptions& options);
std::span<const char* const> BlockPlanFeatures();
FeatureSet BlockPlanFeaturesOf(const Case& c);
std::vector<std::vector<Case>> ReduceBlockPlan(std::span<const Case> sequence,
                                               size_t call);

inline constexpr DomainRow kBlockPlanDomain = {
    &DrawBlockPlan, &BlockPlanFeatures, &BlockPlanFeaturesOf, &ReduceBlockPlan};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_BLOCK_PLAN_H_
