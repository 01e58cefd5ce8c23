#include "verify/allowed/attention_backward/scale_place.h"

#include <algorithm>
#include <cmath>

#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/allowed/rounding.h"

namespace lockstep::verify {
namespace {

// Scales that stay far from the ends of a type's range, times 8 and by 8.
bool InRange(double scale, NumberType type) {
  const double far = type == NumberType::kF16 ? 0x1p10 : 0x1p100;
  return scale <= far && scale >= 1 / far;
}

bool IsPowerOfTwo(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5;
}

double Widened(Rounding rounding) {
  return rounding == Rounding::kNearest ? 1 : 2;
}

}  // namespace

ScalePlace PlaceOf(const GradNumeric& grad, GradientOutput output) {
  if (output == GradientOutput::kDq) {
    switch (grad.dq_scale_at) {
      case DqScaleAt::kUnsaid:
        return ScalePlace::kUnsaid;
      case DqScaleAt::kDs:
        return ScalePlace::kDs;
      case DqScaleAt::kK:
        return ScalePlace::kOperand;
      case DqScaleAt::kEnd:
        return ScalePlace::kEnd;
    }
  }
  if (output == GradientOutput::kDk) {
    switch (grad.dk_scale_at) {
      case DkScaleAt::kUnsaid:
        return ScalePlace::kUnsaid;
      case DkScaleAt::kDs:
        return ScalePlace::kDs;
      case DkScaleAt::kQ:
        return ScalePlace::kOperand;
      case DkScaleAt::kHead:
        return ScalePlace::kHead;
      case DkScaleAt::kSum:
        return ScalePlace::kEnd;
    }
  }
  return ScalePlace::kUnsaid;
}

bool IsEarly(ScalePlace place) {
  return place == ScalePlace::kDs || place == ScalePlace::kOperand ||
         place == ScalePlace::kHead;
}

std::optional<RoundedScale> RoundedScaleAt(
    ScalePlace place, const NumericProfile& profile,
    const AttentionForwardProblem& problem) {
  const double scale = std::fabs(problem.scale);
  const bool ds = place == ScalePlace::kDs;
  const NumberType type = ds ? profile.grad->ds : profile.operand_qk;
  if (scale == 0) return RoundedScale();
  if (!InRange(scale, type)) return std::nullopt;
  if (IsPowerOfTwo(scale)) return RoundedScale();
  // The product is one of f32 first.
  const double unit = std::max(RoundoffOf(type, problem.p_lane), kU);
  RoundedScale rounded = {
      kU + Widened(ds ? profile.p_round : profile.operand_round) * unit,
      1 / unit};
  if (!ds && problem.lane != Lane::kF32) {
    const double lane = LaneRowOf(problem.lane).roundoff;
    rounded.wrong += lane;
    rounded.odd = std::min(rounded.odd, 1 / lane);
  }
  return rounded;
}

}  // namespace lockstep::verify
