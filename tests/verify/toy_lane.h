// A whole lane that the program does not know: e6m9, a sign, 6 bits of
// exponent and 9 of fraction. It is what the author of a lane writes, and all
// of it.
#ifndef LOCKSTEP_TESTS_VERIFY_TOY_LANE_H_
#define LOCKSTEP_TESTS_VERIFY_TOY_LANE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/contract/lanes.h"

namespace lockstep::verify::toy {

inline constexpr int kFraction = 9;
inline constexpr int kLeast = -30;             // exponent of normal numbers
inline constexpr uint16_t kInfinity = 0x7e00;  // more: NaN

inline constexpr LaneRow kRow = {"toy",      "U16",   2,       10,    kLeast,
                                 0x1.ff8p31, 0x1p-39, 0x1p-10, 0x7f00};

inline float Widen(uint16_t bits) {
  const uint16_t size = bits & 0x7fff;
  const int field = size >> kFraction;
  const int fraction = size & ((1 << kFraction) - 1);
  float x = std::ldexp(static_cast<float>(fraction + (field > 0 ? 512 : 0)),
                       std::max(field, 1) - 1 + kLeast - kFraction);
  if (size == kInfinity) x = std::numeric_limits<float>::infinity();
  if (size > kInfinity) x = std::numeric_limits<float>::quiet_NaN();
  return std::copysign(x, (bits & 0x8000) != 0 ? -1.0f : 1.0f);
}

inline uint16_t Round(float x) {
  if (std::isnan(x)) return static_cast<uint16_t>(kRow.nan);
  const auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  const double size = std::fabs(static_cast<double>(x));
  if (size == 0) return sign;
  const int exponent = std::isinf(x) ? 99 : std::max(std::ilogb(size), kLeast);
  // The steps from zero are the bits, subnormal numbers included.
  const double steps =
      std::nearbyint(std::ldexp(size, kFraction - exponent)) +
      std::ldexp(static_cast<double>(exponent - kLeast), kFraction);
  const auto bits = std::min(steps, static_cast<double>(kInfinity));
  return static_cast<uint16_t>(sign | static_cast<uint16_t>(bits));
}

// While it lives, the program has the lane.
struct Added {
  Added() { added_lane = {kRow, &Widen, &Round}; }
  ~Added() { added_lane = {}; }
  Added(const Added&) = delete;
  Added& operator=(const Added&) = delete;
};

}  // namespace lockstep::verify::toy

#endif  // LOCKSTEP_TESTS_VERIFY_TOY_LANE_H_
