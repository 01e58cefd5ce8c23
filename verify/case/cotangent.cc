#include "verify/case/cotangent.h"

#include <algorithm>
#include <iterator>

namespace lockstep::verify {
namespace {

bool Fits(const FillTerm& term) {
  constexpr FillKind kKinds[] = {
      FillKind::kNormal, FillKind::kUniform, FillKind::kConst,
      FillKind::kInt,    FillKind::kOneHot,  FillKind::kSignature,
      FillKind::kRamp,   FillKind::kSigns,   FillKind::kSubnormal,
      FillKind::kTiny,   FillKind::kHuge,    FillKind::kZero,
      FillKind::kSpecial};
  return term.tensors == kFillAll &&
         std::find(std::begin(kKinds), std::end(kKinds), term.kind) !=
             std::end(kKinds);
}

}  // namespace

std::vector<FillTerm> OrdinaryCotangent() {
  return {FillTerm{FillKind::kNormal, kFillAll, {1.0}}};
}

Status CheckCotangent(const char* key, const std::vector<FillTerm>& terms) {
  for (const FillTerm& term : terms) {
    if (!Fits(term)) {
      return Status::Error(std::string(key) + " " + FormatFillTerm(term) +
                           ": want a family of one tensor, such as normal:1, "
                           "int:-3,3 or zero:0.5, without a prefix");
    }
    const Status status = ValidateFillTerm(term);
    if (!status.ok()) {
      return Status::Error(std::string(key) + ": " + status.message());
    }
  }
  return {};
}

}  // namespace lockstep::verify
