// Where the slack of an envelope comes from.
#ifndef LOCKSTEP_VERIFY_ALLOWED_CAUSE_H_
#define LOCKSTEP_VERIFY_ALLOWED_CAUSE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep::verify {

// Causes of slack; all but the last two are fields of a profile.
enum class Cause : uint8_t {
  kAccQk,
  kScaleAt,
  kScore,
  kCapDiv,
  kTanhRel,
  kExpRel,
  kShift,
  kMax,
  kP,
  kAccPv,
  kAccL,
  kState,
  kNormalise,
  kDivision,
  kOutRound,
  kOperandQk,
  kOperandV,
  kTileKv,
  kSplits,
  kUnderflow,
  kOracle,
};
inline constexpr size_t kCauses = 21;
// "acc_qk", ...: the field's name in a profile file.
const char* CauseName(Cause cause);

using CauseAmounts = std::array<double, kCauses>;

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_CAUSE_H_
