#include "verify/domain/draws/cotangent.h"

#include <algorithm>

namespace lockstep::verify {
namespace {

FillTerm Term(FillKind kind, double a = 0, double b = 0) {
  return {.kind = kind, .a = {a}, .b = {b}};
}

}  // namespace

std::vector<FillTerm> DrawCotangent(Draw* draw, bool mild) {
  using enum FillKind;
  switch (draw->In(0, mild ? 5 : 10)) {
    case 0:
      return {Term(kNormal, draw->Of({0.01, 8.0}))};
    case 1:
      return {Term(kInt, -3, 3)};
    case 2:  // where a cotangent comes from, readable
      return {Term(kOneHot)};
    case 3:
      return {Term(kUniform, -1, 2)};
    case 6:
      return {Term(kConst, draw->Of({1.0, -0.5}))};
    case 7:
      return {Term(kNormal, 1), Term(kSpecial, draw->Of({0.02, 0.2}))};
    case 8:
      return {Term(kNormal, 1), Term(kTiny, 0.3)};
    case 9:
      return {Term(kNormal, 1), Term(kZero, draw->Of({0.3, 1.0}))};
    case 10:
      return {Term(kNormal, 1), Term(kHuge, 0.1)};
    default:
      return {Term(kNormal, 1)};
  }
}

std::vector<bool> CotangentFeatures(const std::vector<FillTerm>& terms) {
  using enum FillKind;
  std::vector<bool> has;
  for (const FillKind kind :
       {kNormal, kInt, kOneHot, kConst, kSpecial, kTiny, kZero}) {
    has.push_back(std::any_of(
        terms.begin(), terms.end(),
        [kind](const FillTerm& term) { return term.kind == kind; }));
  }
  return has;
}

}  // namespace lockstep::verify
