#include "verify/domain/domain.h"

#include <utility>

#include "verify/domain/attention_forward.h"
#include "verify/domain/block_plan.h"
#include "verify/domain/mamba3_scan.h"

namespace lockstep::verify {
namespace {

constexpr Domain kDomains[] = {
    {"attention_forward", &DrawAttentionForward, &AttentionForwardFeatures,
     &AttentionForwardFeaturesOf, &ReduceAttentionForward},
    {"block_plan", &DrawBlockPlan, &BlockPlanFeatures, &BlockPlanFeaturesOf,
     &ReduceBlockPlan},
    {"mamba3_scan", &DrawMamba3Scan, &Mamba3ScanFeatures, &Mamba3ScanFeaturesOf,
     &ReduceMamba3},
    {"mamba3_step", &DrawMamba3Step, &Mamba3StepFeatures, &Mamba3ScanFeaturesOf,
     &ReduceMamba3},
};

}  // namespace

void FeatureSet::Add(const FeatureSet& other) {
  if (has.size() < other.has.size()) has.resize(other.has.size());
  for (size_t i = 0; i < other.has.size(); ++i) {
    if (other.has[i]) has[i] = true;
  }
}

std::span<const Domain> Domains() { return kDomains; }

Result<const Domain*> FindDomain(std::string_view op) {
  std::string known;
  for (const Domain& domain : kDomains) {
    if (op == domain.op) return &domain;
    known += std::string(" ") + domain.op;
  }
  return Status::Error("op '" + std::string(op) +
                       "' has no domain to draw from; known:" + known);
}

std::vector<Case> DrawCase(const Domain& domain, const DomainOptions& options,
                           uint64_t seed, uint64_t index) {
  Draw draw(seed, kDomainVersion, index);
  return domain.draw(&draw, options);
}

Case SmallCase(uint64_t seed, std::optional<Lane> lane) {
  DomainOptions options;
  options.lane = lane;
  options.tame = true;
  return std::move(DrawCase(kDomains[0], options, 0, seed)[0]);
}

}  // namespace lockstep::verify
