#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "verify/base/mixing.h"

namespace lockstep::bench {

uint64_t Dice::Next() { return verify::NextMixed(&state_); }

std::vector<size_t> Dice::Order(size_t n) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[Below(i)]);
  return order;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

Interval MedianInterval(std::vector<double> values, double confidence) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  // As many values below the median as heads of n coins: `left` values may be
  // dropped at each end as long as both tails together stay below the rest.
  double term = std::exp2(-static_cast<double>(n));
  double tail = 0;
  size_t left = 0;
  for (size_t k = 0; 2 * k + 1 < n; ++k) {
    tail += term;
    if (2 * tail > 1 - confidence) break;
    left = k + 1;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  left = left > 0 ? left - 1 : 0;
  return {values[left], values[n - 1 - left]};
}

double SignedRank(const std::vector<double>& differences) {
  std::vector<std::pair<double, bool>> sizes;
  for (const double x : differences) {
    if (x != 0) sizes.push_back({std::fabs(x), x > 0});
  }
  if (sizes.empty()) return 1;
  std::sort(sizes.begin(), sizes.end());
  // Twice the ranks, so that the mean rank of an even number of ties is whole.
  std::vector<size_t> ranks(sizes.size());
  for (size_t i = 0; i < sizes.size();) {
    size_t end = i;
    while (end < sizes.size() && sizes[end].first == sizes[i].first) ++end;
    for (size_t k = i; k < end; ++k) ranks[k] = i + end + 1;
    i = end;
  }
  size_t all = 0, up = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    all += ranks[i];
    if (sizes[i].second) up += ranks[i];
  }
  // chance[s]: that the ranks of the coins with heads sum up to s.
  std::vector<double> chance(all + 1, 0.0);
  chance[0] = 1;
  size_t most = 0;
  for (const size_t rank : ranks) {
    most += rank;
    for (size_t s = most + 1; s-- > 0;) {
      chance[s] = chance[s] / 2 + (s >= rank ? chance[s - rank] / 2 : 0.0);
    }
  }
  const size_t low = std::min(up, all - up);
  double tail = 0;
  for (size_t s = 0; s <= low; ++s) tail += chance[s];
  return std::min(1.0, 2 * tail);
}

}  // namespace lockstep::bench
