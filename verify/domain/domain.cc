#include "verify/domain/domain.h"

#include <utility>

namespace lockstep::verify {

void FeatureSet::Add(const FeatureSet& other) {
  if (has.size() < other.has.size()) has.resize(other.has.size());
  for (size_t i = 0; i < other.has.size(); ++i) {
    if (other.has[i]) has[i] = true;
  }
}

Domain DomainOf(const OpRow& op) { return {*op.domain, &op, op.text.name}; }

std::vector<Case> DrawCase(const Domain& domain, const DomainOptions& options,
                           uint64_t seed, uint64_t index) {
  Draw draw(seed, kDrawKey, index);
  return domain.draw(*domain.row, &draw, options);
}

Case TameCase(const Domain& domain, uint64_t seed, std::optional<Lane> lane) {
  DomainOptions options;
  options.lane = lane;
  options.tame = true;
  return std::move(DrawCase(domain, options, 0, seed)[0]);
}

}  // namespace lockstep::verify
