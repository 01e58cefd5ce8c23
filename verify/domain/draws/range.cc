#include "verify/domain/draws/range.h"

#include <algorithm>
#include <cmath>

#include "verify/base/random/deviates.h"

namespace lockstep::verify {
namespace {

// The largest deviation: sums of products of two such numbers stay below 2^16.
constexpr double kMostSpread = 64;

}  // namespace

void KeepInRange(Lane lane, uint8_t tensors, std::vector<FillTerm>* terms) {
  if (!HasShortRange(lane)) return;
  const LaneRow& row = LaneRowOf(lane);
  const double least = std::ldexp(1.0, row.min_exponent);
  for (FillTerm& term : *terms) {
    if ((term.tensors & tensors) == 0) continue;
    const bool spread =
        term.kind == FillKind::kNormal || term.kind == FillKind::kUniform;
    const bool one = term.kind == FillKind::kConst ||
                     term.kind == FillKind::kSigns ||
                     term.kind == FillKind::kLow;
    if (!spread && !one) continue;
    double size = std::fabs(term.a.value);
    if (spread) size = std::max(size, std::fabs(term.b.value));
    if (size == 0) continue;
    const double most = spread ? kMostSpread : row.largest / 2;
    const double factor = std::clamp(size, least, most) / size;
    term.a.value *= factor;
    if (spread) term.b.value *= factor;
  }
}

}  // namespace lockstep::verify
