// What a table says: for people, for programs.
#ifndef LOCKSTEP_BENCH_REPORT_H_
#define LOCKSTEP_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "bench/goals.h"
#include "bench/sweep.h"
#include "bench/table.h"
#include "verify/base/io/json.h"

namespace lockstep::bench {

// Everything that a run of `lockstep bench` found.
struct Report {
  Table table;
  std::vector<GoalResult> goals;
  std::vector<SweepResult> sweeps;
  std::string time;  // when it began, ISO 8601, UTC
};

// "12.34 ms".
std::string TimeText(double seconds);
// "+1.2 %", of a ratio minus 1.
std::string PercentText(double ratio);

std::string ReportText(const Report& report);

// Google Benchmark's format (docs/benchmarking.md says what is in addition):
// `context`, and `benchmarks` with every sample as a repetition, and the
// aggregates median, mean, stddev and cv of each row.
verify::Json ReportJson(const Report& report);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_REPORT_H_
