// Which tokens belong together: the runs of mamba3_scan and ssd_scan.
#ifndef LOCKSTEP_REFERENCE_RUNS_H_
#define LOCKSTEP_REFERENCE_RUNS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"

namespace lockstep::reference {

// Tokens first .. end - 1 of a row; none where first = end.
struct Run {
  int64_t row = 0;
  int64_t first = 0;
  int64_t end = 0;
};

// All runs in the order of the carries: rows, and in a row from left to right.
// Segment ids are compared with their left neighbour only: 0,1,0 are three
// runs.
//   Requires: Validate(problem, inputs, ...).ok().
std::vector<Run> ListRuns(const Mamba3ScanProblem& problem,
                          const Mamba3ScanInputs& inputs);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_RUNS_H_
