#include "verify/base/binary64.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/contract/with_fma.h"

namespace lockstep::verify {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// x * 2^k for integer k, through two factors, so that 2^k may leave range.
LOCKSTEP_IN_BOTH inline double TimesPowerOfTwo(double x, int k) {
  const int half = k / 2;
  const auto power = [](int e) {
    return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52);
  };
  return x * power(half) * power(k - half);
}

// e^y - 1 for |y| <= 0.35: Taylor to y^16, remainder below 2^-70.
LOCKSTEP_IN_BOTH inline double SmallExpm1(double y) {
  double sum = 1.0 / 20922789888000.0;
  double inverse[] = {1.0 / 1307674368000.0,
                      1.0 / 87178291200.0,
                      1.0 / 6227020800.0,
                      1.0 / 479001600.0,
                      1.0 / 39916800.0,
                      1.0 / 3628800.0,
                      1.0 / 362880.0,
                      1.0 / 40320.0,
                      1.0 / 5040.0,
                      1.0 / 720.0,
                      1.0 / 120.0,
                      1.0 / 24.0,
                      1.0 / 6.0,
                      0.5,
                      1.0};
  for (const double c : inverse) sum = std::fma(sum, y, c);
  return sum * y;
}

LOCKSTEP_IN_BOTH inline double Exp2Of(double x) {
  if (x != x) return x;
  if (x >= 1024) return kInf;
  if (x <= -1080) return 0;
  const double n = std::nearbyint(x);
  // ln 2 in two parts: the product's rounding would cost 2^-53 of the result.
  const double f = x - n;
  const double y = std::fma(f, 0x1.62e42fefa39efp-1, f * 0x1.abc9e3b39803fp-56);
  return TimesPowerOfTwo(1.0 + SmallExpm1(y), static_cast<int>(n));
}

LOCKSTEP_IN_BOTH inline double ExpOf(double x) {
  if (x != x) return x;
  if (x >= 710) return kInf;
  if (x <= -750) return 0;
  const double n = std::nearbyint(x * 0x1.71547652b82fep+0);
  const double high = std::fma(-n, 0x1.62e42fefa39efp-1, x);
  const double y = std::fma(-n, 0x1.abc9e3b39803fp-56, high);
  return TimesPowerOfTwo(1.0 + SmallExpm1(y), static_cast<int>(n));
}

LOCKSTEP_IN_BOTH inline double LogOf(double x) {
  if (x == 0) return -kInf;
  if (!(x > 0) || x == kInf) return x > 0 ? x : x - x;
  int k = std::ilogb(x);
  double z = TimesPowerOfTwo(x, -k);
  if (z > 0x1.6a09e667f3bcdp+0) {
    z *= 0.5;
    ++k;
  }
  // log z = 2 atanh s, s = (z-1)/(z+1), |s| <= 0.172: s^2 <= 0.0295.
  const double s = (z - 1) / (z + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int i = 31; i >= 3; i -= 2) sum = std::fma(sum, s2, 1.0 / i);
  const double log_z = 2 * std::fma(s * s2, sum, s);
  return std::fma(k, 0x1.62e42fefa39efp-1, log_z);
}

LOCKSTEP_IN_BOTH inline double TanhOf(double x) {
  const double magnitude = std::fabs(x);
  if (magnitude < 0.17) {
    const double e = SmallExpm1(2 * x);
    return e / (e + 2);
  }
  const double e = ExpOf(-2 * magnitude);
  return std::copysign((1 - e) / (1 + e), x);
}

}  // namespace

double Exp2Double(double x) { return InBoth<Exp2Of>(x); }

double ExpDouble(double x) { return InBoth<ExpOf>(x); }

double LogDouble(double x) { return InBoth<LogOf>(x); }

double TanhDouble(double x) { return InBoth<TanhOf>(x); }

}  // namespace lockstep::verify
