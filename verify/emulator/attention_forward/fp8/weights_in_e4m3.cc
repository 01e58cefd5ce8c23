#include "verify/emulator/attention_forward/fp8/weights_in_e4m3.h"

#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

// Beyond it a conversion that does not saturate gives NaN.
constexpr float kFirstNaN = 464;

}  // namespace

float WeightInE4m3(float p, double p_scale, const FaultDial& dial) {
  const auto scale = static_cast<float>(p_scale);
  float x = p * scale;
  if (dial.Is(Fault::kFp8WeightScaleTwice)) x *= scale;
  if (dial.Is(Fault::kFp8WeightsNotSaturated)) {
    x *= 2;  // the row's largest weight is 512
    return x > kFirstNaN ? kFloatNaN : RoundToE4m3(x);
  }
  return RoundToE4m3(x);
}

float WeightUnscale(double p_scale, const FaultDial& dial) {
  const auto unscale = static_cast<float>(1 / p_scale);
  if (dial.Is(Fault::kFp8WeightsNotSaturated)) return unscale / 2;
  return dial.Is(Fault::kFp8WeightScaleWrongPower) ? unscale * 2 : unscale;
}

}  // namespace lockstep::verify
