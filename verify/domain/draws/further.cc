#include "verify/domain/draws/further.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "verify/base/digest.h"
#include "verify/domain/domain.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// A number that follows from the line.
uint64_t NumberOf(const Case& c) {
  const std::string digest = DigestText(MinimalLine(c)).substr(0, 16);
  return std::strtoull(digest.c_str(), nullptr, 16);
}

// Draws of a twin, each of another kind: no op has more kinds.
constexpr int64_t kTwinDraws = 6;

void Keep(const std::optional<Case>& drawn, const Case& own,
          std::vector<Case>* kept) {
  if (!drawn) return;
  const std::optional<Case> legal = NormalForm(*drawn);
  if (!legal || *legal == own) return;
  if (std::find(kept->begin(), kept->end(), *legal) != kept->end()) return;
  kept->push_back(*legal);
}

}  // namespace

std::vector<Case> FurtherDraws(const Case& from, int64_t count,
                               bool small_weights) {
  std::vector<Case> draws;
  // Draws have no laws.
  Case c = from;
  c.shard.reset();
  if (count == 0 || c.expect != Expect::kPass) return draws;
  const DomainRow* domain = c.op->domain;
  if (domain == nullptr || domain->further == nullptr) return draws;
  const uint64_t number = NumberOf(c);
  // What only a long case shows comes first: numbers -1 and -2.
  for (int64_t n = -1; n >= -2 && std::ssize(draws) < count; --n) {
    Keep(domain->further(c, number, n), c, &draws);
  }
  for (int64_t n = 0; std::ssize(draws) < count && n < count; ++n) {
    Keep(domain->further(c, number, n), c, &draws);
  }
  if (small_weights) {
    Keep(domain->further(c, number, kSmallWeights), c, &draws);
  }
  const std::optional<Case> twin = domain->twin(c, number);
  if (!twin) return draws;
  // It costs little, so it meets every kind.
  Keep(twin, c, &draws);
  for (int64_t n = 0; n < kTwinDraws; ++n) {
    Keep(domain->further(*twin, number, n), c, &draws);
  }
  return draws;
}

std::vector<Case> WithFurther(Draw* draw, std::vector<Case> sequence) {
  if (!draw->OneIn(10)) return sequence;
  const auto number = static_cast<uint64_t>(draw->In(0, INT32_MAX));
  std::vector<Case> drawn;
  for (const Case& c : sequence) {
    const std::optional<Case> other = c.op->domain->further(c, number, 0);
    const std::optional<Case> legal = other ? NormalForm(*other) : std::nullopt;
    if (!legal) return sequence;
    drawn.push_back(*legal);
  }
  return drawn;
}

}  // namespace lockstep::verify
