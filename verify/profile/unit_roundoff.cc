#include "verify/profile/profile.h"

namespace lockstep::verify {

double UnitRoundoff(NumberType type) {
  switch (type) {
    case NumberType::kBf16:
      return 0x1p-8;
    case NumberType::kF16:
    case NumberType::kTf32:
      return 0x1p-11;
    case NumberType::kF32:
    case NumberType::kCase:
      break;
  }
  return 0x1p-24;
}

}  // namespace lockstep::verify
