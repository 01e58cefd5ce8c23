// What was typed, as rows that can be timed.
#ifndef LOCKSTEP_BENCH_CLI_PLAN_H_
#define LOCKSTEP_BENCH_CLI_PLAN_H_

#include <string>
#include <vector>

#include "bench/row.h"
#include "bench/sweep.h"
#include "bench/targets.h"
#include "verify/cli/cli.h"

namespace lockstep::bench::cli {

struct Arguments {
  verify::cli::CaseArguments cases;
  std::vector<std::string> candidates;
  std::string profile;
  std::vector<std::string> tiles;
  std::vector<std::string> sweeps;
  std::string tune;
  std::string budget;
  std::string baseline;
  std::string json;
  verify::cli::HostArguments hosts;
};

struct Plan {
  std::vector<Row> rows;     // opened
  std::vector<Ask> planned;  // goals of planning alone
  std::vector<Goal> alone;   // goals without a case
  std::vector<Axis> axes;    // of the sweeps, by Ask::sweep
};

// Everything is opened before anything is timed. Errors: usage.
Result<Plan> MakePlan(const Arguments& arguments);

}  // namespace lockstep::bench::cli

#endif  // LOCKSTEP_BENCH_CLI_PLAN_H_
