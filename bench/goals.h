// Compares goals with measurements.
#ifndef LOCKSTEP_BENCH_GOALS_H_
#define LOCKSTEP_BENCH_GOALS_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/table.h"
#include "bench/targets.h"

namespace lockstep::bench {

struct GoalResult {
  Goal goal;
  std::string line;  // of the case; empty: it needs none
  std::optional<double> measured;
  std::string why_not;  // one line where nothing was measured

  bool met() const { return measured && goal.Met(*measured); }
};

// Whether a goal is reached by planning alone: its case has no row.
bool NeedsNoRow(const Goal& goal);

// Of the rows that have one, in their order. Runs kernels again where memory or
// the judge's own time is asked for.  Requires: Measure(table).
std::vector<GoalResult> CheckGoals(Table* table);
// Of a goal that NeedsNoRow.
GoalResult CheckPlanning(const Ask& ask);
// Of one that needs no case.
GoalResult CheckAlone(const Goal& goal);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_GOALS_H_
