// What the scan and its gradients ask before any kernel runs: which target, and
// which heads of which runs there are.
#ifndef LOCKSTEP_OPTIMIZED_MAMBA3_TASKS_H_
#define LOCKSTEP_OPTIMIZED_MAMBA3_TASKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "optimized/mamba3_work.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// Bit of the target asked for, or of the best one.
//   Errors: it is unknown, or not supported by this CPU.
Result<int64_t> ChooseTarget(const std::string& name);

// Every head of every run, runs in the order of the carries, heads ascending.
//   Requires: Validate(problem, inputs, ...).ok().
std::vector<Mamba3Task> ListTasks(const Mamba3ScanProblem& problem,
                                  const Mamba3ScanInputs& inputs);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_MAMBA3_TASKS_H_
