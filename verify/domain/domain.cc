#include "verify/domain/domain.h"

#include <utility>

namespace lockstep::verify {

void FeatureSet::Add(const FeatureSet& other) {
  if (has.size() < other.has.size()) has.resize(other.has.size());
  for (size_t i = 0; i < other.has.size(); ++i) {
    if (other.has[i]) has[i] = true;
  }
}

namespace {

using Guards = DomainOptions::Guards;

constexpr std::pair<Guards, const char*> kGuards[] = {
    {Guards::kNone, "none"}, {Guards::kSome, "some"}, {Guards::kOnly, "only"}};

}  // namespace

const char* GuardsName(Guards guards) {
  return kGuards[static_cast<size_t>(guards)].second;
}

std::optional<Guards> GuardsByName(std::string_view name) {
  for (const auto& [guards, known] : kGuards) {
    if (name == known) return guards;
  }
  return std::nullopt;
}

Domain DomainOf(const OpRow& op) { return {*op.domain, &op, op.text.name}; }

std::vector<Case> DrawCase(const Domain& domain, const DomainOptions& options,
                           uint64_t seed, uint64_t index) {
  const bool guards = options.guards == Guards::kOnly ||
                      (options.guards == Guards::kSome && index % 4 == 3);
  if (guards && domain.draw_guards != nullptr) {
    Draw draw(seed, kGuardKey, index);
    return domain.draw_guards(*domain.row, &draw, options);
  }
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
