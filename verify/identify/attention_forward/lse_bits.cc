#include "verify/identify/attention_forward/lse_bits.h"

#include <cmath>

#include "verify/base/binary64.h"

namespace lockstep::verify {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;

constexpr LseForm kForms[] = {
    {ExpBase::kE, Shift::kSubtract, false, "with a natural exponent"},
    {ExpBase::kTwo, Shift::kSubtract, false, "with a base-2 exponent"},
    {ExpBase::kTwo, Shift::kFma, false, "with a fused base-2 exponent"},
    {ExpBase::kTwo, Shift::kFma, true,
     "with a fused base-2 exponent and a natural logarithm"},
};

}  // namespace

std::span<const LseForm> LseForms() { return kForms; }

float LseOfOne(const LseForm& form, float s, double factor) {
  if (form.base == ExpBase::kE) return s * static_cast<float>(factor);
  const auto to_units = static_cast<float>(factor * kLog2E);
  const float units = s * to_units;
  if (form.shift == Shift::kSubtract) return units * static_cast<float>(kLn2);
  // The rounding of the maximum's product is left in the weight.
  const auto weight =
      static_cast<float>(Exp2Double(double{std::fma(s, to_units, -units)}));
  const double log = LogDouble(double{weight});
  if (form.natural_log) {
    return s * static_cast<float>(factor) + static_cast<float>(log);
  }
  const auto log2 = static_cast<float>(log * kLog2E);
  return (units + log2) * static_cast<float>(kLn2);
}

}  // namespace lockstep::verify
