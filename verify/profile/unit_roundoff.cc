#include "verify/profile/profile.h"

namespace lockstep::verify {

double UnitRoundoff(NumberType type) {
  switch (type) {
    case NumberType::kBf16:
      return 0x1p-8;
    case NumberType::kF16:
    case NumberType::kTf32:
      return 0x1p-11;
    case NumberType::kE4m3:
      return 0x1p-4;
    case NumberType::kF32:
    case NumberType::kCase:
      break;
  }
  return 0x1p-24;
}

NumberType NumberTypeOf(Lane lane) {
  constexpr NumberType kOfLanes[] = {NumberType::kF32, NumberType::kBf16,
                                     NumberType::kF16};
  return kOfLanes[WideLaneIndex(lane)];
}

NumberType WeightTypeOf(Lane p_lane) {
  return p_lane == Lane::kF16 ? NumberType::kTf32 : NumberTypeOf(p_lane);
}

}  // namespace lockstep::verify
