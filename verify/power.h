// Whether a case proves anything: the null candidates, answers that know
// nothing or leave one feature out, are put before the same comparator as the
// candidate. A case on which not even "all zeros" is rejected is untrusted.
#ifndef LOCKSTEP_VERIFY_POWER_H_
#define LOCKSTEP_VERIFY_POWER_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/truth.h"
#include "verify/verdict.h"

namespace lockstep::verify {

// Rows looked at for each null that the first row does not tell apart.
inline constexpr int64_t kPowerRows = 64;

// The first output of the case before: what a kernel that does nothing leaves
// in a reused buffer.
struct PreviousTruth {
  std::array<int64_t, 4> shape{};
  Lane lane = Lane::kF32;
  Truth truth;
};

// One entry per null that has a meaning for the problem. Only the first output
// decides: statistics such as lse would give every null away. `previous` may
// be null.
std::vector<Power> MeasurePower(const Trial& trial, const Truth& truth,
                                const PreviousTruth* previous);

// Why the case proves too little; empty if it does not. A null that the truth
// itself equals on all compared rows does not apply, "zeros" excepted.
std::string WhyUntrusted(const Truth& truth, const std::vector<Power>& power);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_POWER_H_
