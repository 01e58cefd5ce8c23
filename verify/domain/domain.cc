#include "verify/domain/domain.h"

#include <cstdint>
#include <iterator>
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

// A key `shard` that ValidateCase accepts, where the op has one.
void CutBySeed(Case* c) {
  constexpr int64_t kCounts[] = {2, 3, 4, 7};
  const uint8_t axes = c->op->text.shard_axes;
  for (uint64_t n = 0; axes != 0 && n < 4 * std::size(kShardAxes); ++n) {
    const uint64_t turn = c->seed + n;
    const auto axis = static_cast<ShardAxis>(turn % std::size(kShardAxes));
    if ((axes & ShardBit(axis)) == 0) continue;
    c->shard = {axis, kCounts[turn / std::size(kShardAxes) % 4]};
    if (ValidateCase(*c).ok()) return;
  }
  c->shard.reset();
}

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
  const bool guarded = guards && domain.draw_guards != nullptr;
  Draw draw(seed, guarded ? kGuardKey : kDrawKey, index);
  DomainOptions own = options;
  own.ordinary |= index < kOrdinaryFirst;
  std::vector<Case> sequence =
      (guarded ? domain.draw_guards : domain.draw)(*domain.row, &draw, own);
  for (Case& c : sequence) {
    if (options.in_shards) CutBySeed(&c);
  }
  return sequence;
}

Case PlainCase(const Domain& domain, uint64_t seed, std::optional<Lane> lane) {
  DomainOptions options;
  options.lane = lane;
  options.plain = true;
  return std::move(DrawCase(domain, options, 0, seed)[0]);
}

}  // namespace lockstep::verify
