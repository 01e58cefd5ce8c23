#include "verify/identify/near_pairs.h"

#include <cmath>

namespace lockstep::verify {
namespace {

// Whether the rounded numbers' differences are the answers; a pair with a
// number near a border tells nothing.
bool Explains(const RoundingModel& model, const std::vector<NearPair>& pairs,
              double margin, double out, double spacing) {
  size_t told = 0;
  for (const NearPair& pair : pairs) {
    if (NearBorder(model, pair.first, margin) ||
        NearBorder(model, pair.second, margin)) {
      continue;
    }
    ++told;
    const double wanted =
        double{RoundedBy(model, static_cast<float>(pair.first))} -
        double{RoundedBy(model, static_cast<float>(pair.second))};
    const double fine = model.type == NumberType::kF32 ? 2 * margin : 0x1p-21;
    const double most =
        fine * std::fabs(pair.first) + out * std::fabs(wanted) + spacing;
    if (!(std::fabs(pair.answer - wanted) <= most)) return false;
  }
  return told >= pairs.size() / 4;
}

}  // namespace

const RoundingModel* FitPairs(const std::vector<NearPair>& pairs, Lane lane,
                              double margin, double out, double spacing) {
  for (const RoundingModel* model : ModelsBeside(lane)) {
    if (Explains(*model, pairs, margin, out, spacing)) return model;
  }
  return nullptr;
}

}  // namespace lockstep::verify
