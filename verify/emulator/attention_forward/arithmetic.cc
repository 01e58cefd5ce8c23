#include "verify/emulator/attention_forward/arithmetic.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "reference/contract/numerics.h"
#include "reference/elementary.h"
#include "verify/base/binary64.h"
#include "verify/emulator/attention_forward/fp8/weights_in_e4m3.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

constexpr float kSentinel = -0.7f * FLT_MAX;
// Of kernels whose masks are added in f16.
constexpr float kLeastOfMask = -1e4f;

// Significant bits of a function that is good to `rel`; 24 if it is accurate.
int BitsOf(double rel) {
  return rel > 0x1p-20 ? std::clamp(-std::ilogb(rel), 1, 24) : 24;
}

}  // namespace

AttentionArithmetic::AttentionArithmetic(const AttentionForwardProblem& problem,
                                         const AttentionVariant& variant,
                                         const FaultDial& dial,
                                         std::optional<double> stale_cap)
    : problem_(problem),
      numeric_(variant.numeric),
      variant_(variant),
      dial_(dial),
      contract_(variant.numeric.shift == Shift::kInteger),
      cap_(problem.softcap),
      scale_(problem.scale),
      p_(variant.numeric.p) {
  if (p_ == NumberType::kCase) p_ = WeightTypeOf(problem.p_lane);
  if (dial.Is(Fault::kPBf16)) p_ = NumberType::kBf16;
  if (dial.Is(Fault::kCapIgnored)) cap_.reset();
  if (dial.Is(Fault::kCapStale) && stale_cap) cap_ = stale_cap;
  if (cap_ && dial.Is(Fault::kCapInteger)) {
    cap_ = std::floor(*cap_);
    if (*cap_ == 0) cap_.reset();
  }
  if (cap_ && dial.Is(Fault::kCapWrongValue)) {
    cap_ = *cap_ * (1 + std::ldexp(1.0, -static_cast<int>(dial.SeverityOf(
                                            Fault::kCapWrongValue))));
  }
  if (dial.Is(Fault::kScaleTwice)) scale_ *= scale_;
  if (dial.Is(Fault::kScaleMissing)) scale_ = 1;
  if (dial.Is(Fault::kScaleBf16)) {
    scale_ = RoundTo(static_cast<float>(scale_), NumberType::kBf16);
  }
  if (numeric_.exp_base == ExpBase::kTwo && numeric_.shift == Shift::kFma) {
    factor_ = kLog2E;
    if (numeric_.scale_at == ScaleAt::kExponent) {
      factor_ = (cap_ ? *cap_ : scale_) * kLog2E;
    }
  }
}

bool AttentionArithmetic::BoundedByCap() const {
  if (!cap_ || static_cast<float>(*cap_ * kLog2E) > kFixedPathBound) {
    return false;
  }
  return !(dial_.Is(Fault::kCapTimesTanh) ||
           dial_.Is(Fault::kCapArgumentTimesTanh) ||
           dial_.Is(Fault::kCapBeforeScale) ||
           dial_.Is(Fault::kCapOnlyPartialTiles) ||
           dial_.Is(Fault::kCapEverySecondVector) ||
           dial_.Is(Fault::kCapOnlyFullTiles));
}

float AttentionArithmetic::Tanh(float x) const {
  if (dial_.Is(Fault::kCapClamp)) return std::clamp(x, -1.0f, 1.0f);
  float t =
      contract_ ? reference::TanhCore(x) : static_cast<float>(TanhDouble(x));
  t = RoundToBits(t, BitsOf(numeric_.tanh_rel));
  if (dial_.Is(Fault::kTanhCoarse)) {
    t = TruncateToBits(t,
                       static_cast<int>(dial_.SeverityOf(Fault::kTanhCoarse)));
  }
  return t;
}

// r4: the argument of the cap's tanh, in the way the profile divides.
float AttentionArithmetic::CapArgument(float dot) const {
  const bool scaled_q = !contract_ && ScalesQuery(numeric_.scale_at);
  double scale = scaled_q ? 1.0 : scale_;
  double divisor = *cap_;
  if (dial_.Is(Fault::kCapBeforeScale)) scale = 1.0;
  if (dial_.Is(Fault::kCapNoDivision)) divisor = 1.0;
  if (dial_.Is(Fault::kCapBase2Unscaled)) scale *= kLog2E;
  if (contract_ || numeric_.cap_div == CapDivision::kFolded) {
    return dot * static_cast<float>(scale / divisor);
  }
  const float z = scaled_q ? dot : Step(dot * static_cast<float>(scale));
  return Step(numeric_.cap_div == CapDivision::kDivide
                  ? z / static_cast<float>(divisor)
                  : z * static_cast<float>(1.0 / divisor));
}

// r6: from the tanh back to a score.
float AttentionArithmetic::CapResult(float t, float dot) const {
  if (dial_.Is(Fault::kCapTwice)) t = Tanh(t);
  double cap = *cap_;
  if (dial_.Is(Fault::kCapBase2Unscaled)) cap /= kLog2E;
  if (dial_.Is(Fault::kCapBeforeScale)) cap *= scale_;
  if (dial_.Is(Fault::kCapTimesTanh)) cap = static_cast<double>(dot) * scale_;
  if (dial_.Is(Fault::kCapArgumentTimesTanh)) cap = double{CapArgument(dot)};
  if (contract_) return static_cast<float>(cap * kLog2E) * t;
  const bool folded =
      numeric_.shift == Shift::kFma && numeric_.scale_at == ScaleAt::kExponent;
  if (folded) return cap == *cap_ ? t : static_cast<float>(cap / *cap_) * t;
  return InUnits(static_cast<float>(cap) * t);
}

// Natural logit to the units of exp_base, where they differ.
float AttentionArithmetic::InUnits(float natural) const {
  const bool convert =
      numeric_.exp_base == ExpBase::kTwo && numeric_.shift == Shift::kSubtract;
  return convert ? natural * static_cast<float>(kLog2E) : natural;
}

// A number on the way to a score.
float AttentionArithmetic::Step(float x) const {
  return numeric_.score_round == ScoreRound::kOnce ? x
                                                   : RoundTo(x, numeric_.score);
}

float AttentionArithmetic::Score(float dot, bool partial_tile) const {
  dot = Step(HalfBy(Fault::kF16DotOverflows, dot));
  const bool capped =
      cap_ && !(dial_.Is(Fault::kCapOnlyPartialTiles) && !partial_tile) &&
      !(dial_.Is(Fault::kCapEverySecondVector) && !partial_tile) &&
      !(dial_.Is(Fault::kCapOnlyFullTiles) && partial_tile);
  float s;
  if (capped) {
    const float x = HalfBy(Fault::kF16CapF16, CapArgument(dot));
    s = CapResult(Step(Tanh(x)), dot);
  } else if (contract_) {
    s = dot * static_cast<float>(scale_ * kLog2E);
  } else if (ScalesQuery(numeric_.scale_at)) {
    s = InUnits(dot);
  } else if (numeric_.scale_at == ScaleAt::kExponent) {
    // Folded into factor_ (fma) or into one constant (subtract).
    if (numeric_.shift == Shift::kFma) {  // the rest is in factor_
      s = cap_ ? dot * static_cast<float>(scale_ / *cap_) : dot;
    } else {
      const double units =
          numeric_.exp_base == ExpBase::kTwo ? scale_ * kLog2E : scale_;
      s = dot * static_cast<float>(units);
    }
  } else {
    s = InUnits(dot * static_cast<float>(scale_));
  }
  if (dial_.Is(Fault::kScoreBf16)) s = RoundTo(s, NumberType::kBf16);
  return RoundTo(HalfBy(Fault::kF16ScoreF16, s), numeric_.score);
}

float AttentionArithmetic::SinkScore(float sink) const {
  if (dial_.Is(Fault::kSinkScaled)) sink *= static_cast<float>(scale_);
  if (dial_.Is(Fault::kSinkBase2)) sink *= static_cast<float>(kLn2);
  sink = Step(RoundTo(sink, numeric_.sink));
  if (dial_.Is(Fault::kCapOnSink) && cap_) {
    const auto cap = static_cast<float>(*cap_);
    sink = cap * Tanh(sink / cap);
  }
  if (contract_) return sink * static_cast<float>(kLog2E);
  if (numeric_.shift == Shift::kFma) {
    return static_cast<float>(double{sink} * (kLog2E / factor_));
  }
  return InUnits(sink);
}

float AttentionArithmetic::MaskedScore(float score) const {
  if (dial_.Is(Fault::kMaskBeforeCap) || dial_.Is(Fault::kPaddingBeforeCap)) {
    return Score(problem_.scale < 0 ? kFloatInf : -kFloatInf, true);
  }
  if (dial_.Is(Fault::kF16MaskFinite)) return SinkScore(kLeastOfMask);
  switch (numeric_.mask) {
    case MaskApplication::kSelectNegInf:
      break;
    case MaskApplication::kSelectFinite:
      return kSentinel;
    case MaskApplication::kAddFinite:
      return score + kSentinel;
  }
  return -kFloatInf;
}

float AttentionArithmetic::NextMax(float m, float top) const {
  if (dial_.Is(Fault::kFixedMax) || dial_.Is(Fault::kF16NoMax)) return 0.0f;
  const MaxPolicy& policy = numeric_.max;
  switch (policy.kind) {
    case MaxPolicy::Kind::kFixed:
      return static_cast<float>(numeric_.exp_base == ExpBase::kTwo
                                    ? policy.value * kLog2E / factor_
                                    : policy.value);
    case MaxPolicy::Kind::kNone:
      return 0.0f;
    case MaxPolicy::Kind::kLazy:
      if (m != -kFloatInf && !(double{top - m} * factor_ > policy.value))
        return m;
      break;
    case MaxPolicy::Kind::kRunning:
    case MaxPolicy::Kind::kTwoPass:
      break;
  }
  return std::max(m, top);
}

float AttentionArithmetic::Weight(float score, float m, float shift) const {
  return WeightOfKey(score, m, shift, 0);
}

float AttentionArithmetic::WeightOfKey(float score, float m, float shift,
                                       int64_t key) const {
  if (score == -kFloatInf) return 0.0f;
  float p = Exponential(score, m, shift);
  const double rel = numeric_.exp_rel;
  if (numeric_.exp_zero == ExpZero::kExact) {
    if (!contract_) p = RoundToBits(p, BitsOf(rel));
  } else if (key % 16 != 15) {
    p *= static_cast<float>(1 - 0.75 * rel);
  }
  if (numeric_.ftz && std::fabs(p) < FLT_MIN) p = 0.0f;
  if (dial_.Is(Fault::kExpCoarse)) {
    p = TruncateToBits(p,
                       static_cast<int>(dial_.SeverityOf(Fault::kExpCoarse)));
  }
  return p;
}

// The function itself, correctly rounded but for the contract's.
float AttentionArithmetic::Exponential(float score, float m,
                                       float shift) const {
  float p;
  if (contract_) {
    const float n = std::nearbyint(score);
    const float e = (n - m) + shift;
    if (!(e >= kMinExponent)) return e != e ? e : 0.0f;
    // More than f32's range: a fault without a maximum.
    p = reference::Exp2Core(score - n) *
        std::ldexp(1.0f, static_cast<int>(std::min(e, 1000.0f)));
  } else {
    const float base =
        m == -kFloatInf && !dial_.Is(Fault::kEmptyTileNan) ? 0.0f : m;
    const auto factor = static_cast<float>(factor_);
    const bool fma =
        numeric_.exp_base == ExpBase::kTwo && numeric_.shift == Shift::kFma;
    const float argument =
        HalfBy(Fault::kF16ExpF16,
               fma ? std::fma(score, factor, -(base * factor))
               : numeric_.score_round == ScoreRound::kShift ? Step(score - base)
                                                            : score - base);
    p = static_cast<float>(numeric_.exp_base == ExpBase::kE
                               ? ExpDouble(argument)
                               : Exp2Double(argument));
  }
  return p;
}

float AttentionArithmetic::AddWeight(float l, float p) const {
  if (dial_.Is(Fault::kLBf16)) {
    return RoundToBits(l + p,
                       static_cast<int>(dial_.SeverityOf(Fault::kLBf16)));
  }
  if (dial_.Is(Fault::kF16LF16)) return RoundTo(l + p, NumberType::kF16);
  return AddTo(l, p, numeric_.acc_l);
}

float AttentionArithmetic::RoundWeight(float p) const {
  if (dial_.Is(Fault::kPTruncated)) return TruncateTo(p, NumberType::kBf16);
  if (dial_.Is(Fault::kF16WeightsFlushed)) p = FlushedInF16(p);
  if (p_ == NumberType::kE4m3) return WeightInE4m3(p, numeric_.p_scale, dial_);
  return numeric_.p_round == Rounding::kTruncate ? TruncateTo(p, p_)
                                                 : RoundTo(p, p_);
}

float AttentionArithmetic::SummedWeight(float p) const {
  const bool rounded =
      (numeric_.l_from == LFrom::kRounded) != dial_.Is(Fault::kLFromOther);
  if (dial_.Is(Fault::kFp8WeightScaleInSum)) return RoundWeight(p);
  return rounded ? Unscaled(RoundWeight(p)) : p;
}

float AttentionArithmetic::Unscaled(float sum) const {
  if (p_ != NumberType::kE4m3) return sum;
  return sum * WeightUnscale(numeric_.p_scale, dial_);
}

float AttentionArithmetic::StateBetweenTiles(float acc) const {
  if (dial_.Is(Fault::kOBf16PerTile)) return RoundTo(acc, NumberType::kBf16);
  return RoundTo(HalfBy(Fault::kF16StateF16, acc), numeric_.state);
}

float AttentionArithmetic::Divide(float x, float l) const {
  return numeric_.division == Division::kDivide ? x / l : x * (1.0f / l);
}

float AttentionArithmetic::Output(float x) const {
  if (x != x) return std::numeric_limits<float>::quiet_NaN();
  if (problem_.lane != Lane::kF32) {
    if (dial_.Is(Fault::kOutDoubleRounded)) {
      x = RoundToBits(x, LaneRowOf(problem_.lane).digits + 3);
    }
    x = dial_.Is(Fault::kOutTruncated) ||
                numeric_.out_round == Rounding::kTruncate
            ? TruncateTo(x, NumberTypeOf(problem_.lane))
            : reference::RoundToLane(x, problem_.lane);
  } else if (dial_.Is(Fault::kOutTruncated)) {
    x = TruncateToBits(x, 22);
  }
  if (numeric_.ftz && std::fabs(x) < FLT_MIN) x = 0.0f;
  if (dial_.Is(Fault::kF16OutputFlushed)) x = FlushedInF16(x);
  return x + 0.0f;
}

float AttentionArithmetic::LogSumExp(float l, float m, float shift) const {
  if (l == 0.0f) return -kFloatInf;
  if (contract_) {
    const float scaled = l * std::ldexp(1.0f, -static_cast<int>(shift));
    if (!(scaled > 0) || scaled == kFloatInf) {
      return scaled > 0 ? kFloatInf : std::numeric_limits<float>::quiet_NaN();
    }
    const auto split = reference::SplitForLog2(scaled);
    const float log2 = (m + split.k) + reference::Log2Core(split.z);
    return dial_.Is(Fault::kLseLog2) ? log2
                                     : log2 * static_cast<float>(kLn2) + 0.0f;
  }
  if (m == -kFloatInf) m = 0.0f;
  const auto log = static_cast<float>(LogDouble(l));
  float lse;
  if (numeric_.exp_base == ExpBase::kE) {
    lse = m + log;
  } else {
    const auto log2 = static_cast<float>(LogDouble(l) * kLog2E);
    lse = (m * static_cast<float>(factor_) + log2) * static_cast<float>(kLn2);
  }
  if (dial_.Is(Fault::kLseLog2)) lse *= static_cast<float>(kLog2E);
  if (lse != lse) return std::numeric_limits<float>::quiet_NaN();
  return lse + 0.0f;
}

}  // namespace lockstep::verify
