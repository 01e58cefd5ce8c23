// Largest extents accepted. Products are checked to stay below 2^47 bytes, so
// that no offset computation can overflow.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_LIMITS_H_
#define LOCKSTEP_REFERENCE_CONTRACT_LIMITS_H_

#include <cstdint>

namespace lockstep {

inline constexpr int64_t kMaxLength = int64_t{1} << 26;
inline constexpr int64_t kMaxHeads = int64_t{1} << 16;
inline constexpr int64_t kMaxChannels = int64_t{1} << 14;
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 47;
inline constexpr int64_t kMaxOffset = int64_t{1} << 40;

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_LIMITS_H_
