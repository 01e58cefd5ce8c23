// Time and memory of the work, for every benchmark alike.
#ifndef LOCKSTEP_BENCH_MEASURE_H_
#define LOCKSTEP_BENCH_MEASURE_H_

#include <optional>
#include <vector>

namespace lockstep::bench {

// Seconds on a clock that never goes back.
double Now();

// The upper one of the two in the middle. Requires: not empty.
double Median(std::vector<double> values);

// How much memory the process comes to hold from here on (Linux).
class MemoryMark {
 public:
  MemoryMark();
  // Bytes resident at most since, less those at the start; none where
  // /proc/self does not tell.
  std::optional<double> Extra() const;

 private:
  double before_;
};

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_MEASURE_H_
