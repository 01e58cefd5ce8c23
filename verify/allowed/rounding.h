// What the envelopes of all ops say of rounding, and bounds that are no matter
// of it.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ROUNDING_H_
#define LOCKSTEP_VERIFY_ALLOWED_ROUNDING_H_

#include <cstdint>
#include <limits>

#include "verify/allowed/result.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kU = 0x1p-24;  // unit roundoff of f32
// Relative error of every magnitude and of an envelope's own arithmetic,
// rounded up: sums of up to 2^26 positive terms in binary64 are good to 2^-27.
inline constexpr double kRoundUp = 1 + 1e-7;
// Below it values are what underflow leaves.
inline constexpr double kNegligible = 0x1p-100;

// Of a conversion to the type; an f32 value is converted without one.
inline double ConversionTo(NumberType type) {
  return type == NumberType::kF32 ? 0 : UnitRoundoff(type);
}

// What two neighbouring subnormal numbers of the type are apart; of `case`,
// those of f32.
constexpr double SpacingOf(NumberType type) {
  if (type == NumberType::kTf32) return 0x1p-136;
  if (type == NumberType::kBf16) return 0x1p-133;
  if (type == NumberType::kE4m3) return 0x1p-9;
  return type == NumberType::kF16 ? 0x1p-24 : 0x1p-149;
}
// The smallest normal number where they are flushed.
constexpr double SpacingOf(NumberType type, bool ftz) {
  if (!ftz || type == NumberType::kE4m3) return SpacingOf(type);
  return type == NumberType::kF16 ? 0x1p-14 : 0x1p-126;
}

// Of so many roundings to f32.
inline double Roundoffs(int64_t n) { return static_cast<double>(n) * kU; }

// Every number, and NaN.
inline constexpr ValueSet kAnything = {-kInf, kInf, true};

inline Bounds Anything(double truth) {
  return {kAnything, kAnything, truth, kInf, kInf};
}

// The same where no answer is due.
inline Bounds Unclaimed(double truth) {
  Bounds bounds = Anything(truth);
  bounds.unclaimed = true;
  return bounds;
}

// A value that is prescribed: no arithmetic leads to it.
inline Bounds Only(double value) {
  ValueSet set{value, value, false};
  if (value != value) set = {1, -1, true};
  return {set, set, value, 0, 0};
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ROUNDING_H_
