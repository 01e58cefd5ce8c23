// Rounding points at the kernel's edges: what is loaded, what matrix units
// read, what is stored as lse.
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/contract/numerics.h"
#include "verify/emulator/attention_forward/arithmetic.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {

void AttentionArithmetic::PrescaleQuery(std::vector<float>* q) const {
  if (contract_) return;
  const bool in_lane = numeric_.scale_at == ScaleAt::kQLane;
  if (!in_lane && numeric_.scale_at != ScaleAt::kQF32) return;
  for (float& x : *q) {
    x *= static_cast<float>(scale_);
    if (in_lane && problem_.lane == Lane::kBf16) {
      x = RoundTo(x, NumberType::kBf16);
    }
  }
}

void AttentionArithmetic::FlushInputs(std::vector<float>* x) const {
  if (!numeric_.ftz) return;
  for (float& element : *x) {
    if (std::fabs(element) < FLT_MIN) element = 0.0f;
  }
}

void AttentionArithmetic::RoundOperands(NumberType type,
                                        std::vector<float>* x) const {
  if (type == NumberType::kF32) return;
  const bool cut = numeric_.operand_round == Rounding::kTruncate ||
                   dial_.Is(Fault::kOperandsCut);
  for (float& element : *x) {
    element = cut ? TruncateTo(element, type) : RoundTo(element, type);
  }
}

void AttentionArithmetic::RoundOperandsQk(std::vector<float>* x) const {
  RoundOperands(numeric_.operand_qk, x);
}

void AttentionArithmetic::RoundOperandsV(std::vector<float>* x) const {
  RoundOperands(numeric_.operand_v, x);
}

float AttentionArithmetic::StoredLse(float lse) const {
  if (numeric_.lse_base == ExpBase::kTwo) lse *= static_cast<float>(kLog2E);
  // Nobody may look at what is not there.
  if (!HasLse(numeric_)) return std::numeric_limits<float>::quiet_NaN();
  if (numeric_.lse == LseLane::kBf16) lse = RoundTo(lse, NumberType::kBf16);
  return lse;
}

}  // namespace lockstep::verify
