// Rounding points at the kernel's edges: what is loaded, what matrix units
// read, what is stored as lse.
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/contract/numerics.h"
#include "reference/elementary.h"
#include "verify/emulator/attention_forward/arithmetic.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {

void AttentionArithmetic::Misread(Input input, std::vector<float>* x) const {
  const bool flushed =
      (input == Input::kK && dial_.Is(Fault::kF16KeysFlushed)) ||
      (input == Input::kV && dial_.Is(Fault::kF16ValuesFlushed));
  const bool narrowed = dial_.Is(Fault::kF16ThroughBf16);
  const bool as_bf16 = dial_.Is(Fault::kF16ReadAsBf16);
  if (!flushed && !narrowed && !as_bf16) return;
  for (float& element : *x) {
    if (flushed) element = FlushedInF16(element);
    if (narrowed) element = RoundTo(element, NumberType::kBf16);
    if (as_bf16) element = F16ReadAsBf16(element);
  }
}

void AttentionArithmetic::Prescale(Input input, std::vector<float>* q) const {
  if (contract_) return;
  if (numeric_.scale_at == ScaleAt::kRoots) {
    auto root = static_cast<float>(std::sqrt(std::fabs(scale_)));
    if (input == Input::kQ && scale_ < 0) root = -root;
    for (float& x : *q) x *= root;
  }
  if (input != Input::kQ) return;
  if (dial_.Is(Fault::kF16ScaledQuery)) {
    // The scale is taken out again, to come where it belongs. The lost bits
    // stay lost.
    const auto scale = static_cast<float>(scale_);
    for (float& x : *q) x = RoundTo(x * scale, NumberType::kF16) / scale;
  }
  const bool in_lane = numeric_.scale_at == ScaleAt::kQLane;
  if (!in_lane && numeric_.scale_at != ScaleAt::kQF32) return;
  for (float& x : *q) {
    x *= static_cast<float>(scale_);
    if (in_lane) x = RoundTo(x, NumberTypeOf(problem_.lane));
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
  // What is not there must not be read.
  if (!HasLse(numeric_)) return std::numeric_limits<float>::quiet_NaN();
  if (numeric_.lse == LseLane::kBf16) lse = RoundTo(lse, NumberType::kBf16);
  if (dial_.Is(Fault::kF16LseF16)) lse = RoundTo(lse, NumberType::kF16);
  return lse;
}

}  // namespace lockstep::verify
