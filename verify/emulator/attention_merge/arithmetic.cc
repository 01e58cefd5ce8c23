#include "verify/emulator/attention_merge/arithmetic.h"

#include <cmath>
#include <cstddef>
#include <limits>

#include "reference/contract/numerics.h"
#include "verify/base/binary64.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

constexpr auto kLog2EF32 = static_cast<float>(kLog2E);
constexpr auto kLn2F32 = static_cast<float>(kLn2);

}  // namespace

float MergeArithmetic::Flushed(float x) const {
  const bool subnormal =
      std::fabs(x) < std::numeric_limits<float>::min() && x != 0;
  return variant_.numeric.ftz && subnormal ? std::copysign(0.0f, x) : x;
}

// In units of the exponential's base.
float MergeArithmetic::Exponent(float lse, float m) const {
  const bool binary = variant_.numeric.exp_base == ExpBase::kTwo;
  const bool other = binary != (base_ == LseBase::kTwo);
  const float factor = binary ? kLog2EF32 : kLn2F32;
  if (Is(MergeFault::kBaseOfMax)) return lse * factor - m;
  if (Is(MergeFault::kBaseTwice)) {
    const float once = (lse - m) * factor;
    return other ? once * factor : once;
  }
  if (!other) return lse - m;
  if (variant_.numeric.shift == Shift::kFma) {
    return std::fma(lse, factor, -(m * factor));
  }
  return (lse - m) * factor;
}

float MergeArithmetic::Weight(float lse, float m) const {
  const float x = Exponent(lse, m);
  if (std::isnan(x)) return kFloatNaN;
  const bool binary =
      (variant_.numeric.exp_base == ExpBase::kTwo) != Is(MergeFault::kBaseIn);
  const double y = binary ? Exp2Double(double{x}) : ExpDouble(double{x});
  const auto rounded = static_cast<float>(y);
  if (!std::isfinite(rounded)) return rounded;
  return Flushed(RoundToBits(rounded, variant_.exp_bits));
}

float MergeArithmetic::Rounded(float weight) const {
  if (Is(MergeFault::kWeightBf16)) return RoundTo(weight, NumberType::kBf16);
  const NumberType type = variant_.numeric.p;
  return type == NumberType::kCase ? weight : RoundTo(weight, type);
}

float MergeArithmetic::AddWeight(float sum, float weight) const {
  return AddTo(sum, weight, variant_.numeric.acc_l);
}

void MergeArithmetic::AddProducts(float weight, const std::vector<float>& o,
                                  std::vector<float>* sums) const {
  const Accumulator& how = variant_.numeric.acc_pv;
  const bool chain = how.kind == Accumulator::Kind::kRn32;
  for (size_t c = 0; c < o.size(); ++c) {
    float& sum = (*sums)[c];
    const float x = Flushed(o[c]);
    sum = chain && variant_.fused ? std::fma(weight, x, sum)
                                  : AddTo(sum, weight * x, how);
    sum = Flushed(sum);
    if (Is(MergeFault::kAccBf16)) sum = RoundTo(sum, NumberType::kBf16);
  }
}

float MergeArithmetic::Divide(float x, float sum) const {
  if (variant_.numeric.division == Division::kReciprocal) {
    return x * (1.0f / sum);
  }
  return x / sum;
}

float MergeArithmetic::Lse(float m, float sum) const {
  if (!(sum > 0)) return sum == 0 ? -kFloatInf : kFloatNaN;
  if (sum == kFloatInf) return kFloatInf;
  const double log = LogDouble(double{sum});
  const auto natural = static_cast<float>(log);
  const auto in_two = static_cast<float>(log * kLog2E);
  const bool asked = base_ == LseBase::kTwo;
  if (Is(MergeFault::kBaseOut)) return m + (asked ? natural : in_two);
  const bool binary = variant_.numeric.exp_base == ExpBase::kTwo;
  float own = binary ? in_two : natural;
  if (binary != asked) own = own * (binary ? kLn2F32 : kLog2EF32);
  return Is(MergeFault::kLseWithoutMax) ? own : m + own;
}

float MergeArithmetic::StoredLse(float lse) const {
  const bool bf16 =
      variant_.numeric.lse == LseLane::kBf16 || Is(MergeFault::kLseOutBf16);
  return bf16 ? RoundTo(lse, NumberType::kBf16) : lse;
}

float MergeArithmetic::State(float x) const {
  return Flushed(RoundTo(x, variant_.numeric.state));
}

}  // namespace lockstep::verify
