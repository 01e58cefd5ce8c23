// Rounding to bf16 as a kernel does it, of the oracle's numbers.
#ifndef LOCKSTEP_VERIFY_ORACLE_NEAREST_BF16_H_
#define LOCKSTEP_VERIFY_ORACLE_NEAREST_BF16_H_

#include <algorithm>
#include <cmath>

namespace lockstep::oracle {

// The bf16 number next to x, a tie to even; x where it is no finite number.
inline double NearestBf16(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int unit = std::max(std::ilogb(x), -126) - 7;
  return std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
}

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_NEAREST_BF16_H_
