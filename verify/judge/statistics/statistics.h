// How improbable the errors of an answer are, all together, for a kernel whose
// roundings are those of its profile. What is bounded here is a probability,
// by inequalities that hold for any number of rows:
//
//   biases  b_r of independent rows, each as likely as -b_r: P(|sum b_r| >=
//           x sqrt(sum b_r^2)) <= 2 exp(-x^2 / 2) (Efron 1969, from Hoeffding
//           1963), whatever sizes the b_r have;
//   sizes   m_r, means of squares z^2 of errors in units of their standard
//           deviation, sums of bounded roundings: E exp(t z^2) <= (1 - 2t)^-1/2
//           as for a normal z, and by convexity for their mean, hence
//           P(sum m_r >= R a) <= exp(-R/2 (a - 1 - ln a)) for a > 1.
//
// A case has one rate of false alarms, which its statistics share (Bonferroni).
// Those of the whole tensor have half of it. Heads, columns and blocks of rows
// have a quarter, and so have keys, offsets and tiles of keys.
#ifndef LOCKSTEP_VERIFY_JUDGE_STATISTICS_STATISTICS_H_
#define LOCKSTEP_VERIFY_JUDGE_STATISTICS_STATISTICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "verify/allowed/errors.h"

namespace lockstep::verify {

// Largest probability that any statistic of a correct kernel's case alarms.
inline constexpr double kStatisticsRate = 1e-3;

// One statistic, and how probable such a value is at most.
struct Statistic {
  std::string name;   // "gain", "rms", "key", ...
  std::string where;  // "", "head 3", "channels 16 .. 31", "key 4095"
  // Of a bias the sum in units of the root of its squares, less what drifts
  // may explain; of a size the root of the mean square.
  double value = 0;
  int64_t rows = 0;
  double log_p = 0;  // natural logarithm of the bound, at most 0
  double limit = 0;  // alarms below it

  bool Alarms() const { return log_p < limit; }
  bool Same(const Statistic& other) const {
    return name == other.name && where == other.where &&
           (value < 0) == (other.value < 0);
  }
};

struct StatisticsResult {
  std::string tensor;
  std::string why_not;  // nothing was looked at, and why; empty: something was
  int64_t rows = 0;     // that took part, copies once
  int64_t judged = 0;   // that could have
  int64_t tests = 0;
  bool pools = false;  // keys, offsets and tiles among them
  // The least probable of all, by their limits, and all that alarm, the least
  // probable first.
  Statistic strongest;
  std::vector<Statistic> alarms;
};

// Natural logarithms of the two bounds.
double LogBiasBound(double x);
double LogSizeBound(double mean_square, int64_t rows);

StatisticsResult JudgeErrors(const ErrorSample& sample,
                             double rate = kStatisticsRate);
// One statistic that has alarmed, on another draw: its log_p there. 0 where it
// has none, or the other sign.
double LogBoundAgain(const Statistic& first, const ErrorSample& again);

// "gain of head 3, 12.4 away from zero in 128 rows; ..." for findings.
std::string DescribeStatistic(const Statistic& statistic);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_STATISTICS_STATISTICS_H_
