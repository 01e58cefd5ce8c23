// What samples of time allow to be said. Times have long tails to one side and
// come in clumps, so nothing here assumes a distribution.
#ifndef LOCKSTEP_BENCH_STATISTICS_H_
#define LOCKSTEP_BENCH_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::bench {

// Numbers that depend on a seed alone: the orders of rounds.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // 0 .. n - 1. Requires: n > 0.
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }
  // 0, 1, ..., n - 1 in some order.
  std::vector<size_t> Order(size_t n);

 private:
  uint64_t state_;
};

struct Interval {
  double low = 0;
  double high = 0;
};

// The mean of the two in the middle of an even number. Requires: not empty.
double MedianOf(std::vector<double> values);

// Of the median of the distribution that the values were drawn from, by the
// order of the values alone: it holds the median with a probability of at least
// `confidence`. Of too few values it is all of them. Requires: not empty.
Interval MedianInterval(std::vector<double> values, double confidence);

// How probable it is that the sum of signed ranks (Wilcoxon) lies as far from
// its mean as that of these differences, or farther, if the sign of each is a
// coin's: two-sided and exact, ties and zeros included. Alternatives that take
// turns in an order drawn for each pair have such signs if they are the same,
// whatever else goes on. 1 if there are no differences. Requires: at most
// kMostDifferences.
double SignedRank(const std::vector<double>& differences);
inline constexpr size_t kMostDifferences = 400;

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_STATISTICS_H_
