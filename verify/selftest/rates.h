// How sure a rate is that was counted.
#ifndef LOCKSTEP_VERIFY_SELFTEST_RATES_H_
#define LOCKSTEP_VERIFY_SELFTEST_RATES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace lockstep::verify {

struct Rate {
  int64_t total = 0;
  int64_t hits = 0;

  double value() const {
    return static_cast<double>(hits) / static_cast<double>(total);
  }
};

// Wilson's 95 % interval. Nothing was counted: anything may be.
inline std::pair<double, double> Wilson(const Rate& counted) {
  if (counted.total == 0) return {0, 1};
  const auto n = static_cast<double>(counted.total);
  const double rate = counted.value();
  const double z2 = 1.96 * 1.96;
  const double centre = rate + z2 / (2 * n);
  const double half =
      1.96 * std::sqrt(rate * (1 - rate) / n + z2 / (4 * n * n));
  // Of none and of all the ends are no more than rounded.
  return {
      counted.hits == 0 ? 0.0 : std::max(0.0, (centre - half) / (1 + z2 / n)),
      counted.hits == counted.total
          ? 1.0
          : std::min(1.0, (centre + half) / (1 + z2 / n))};
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_RATES_H_
