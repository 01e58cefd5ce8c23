// Parts of a scan as problems of their own: views into the same memory.
#ifndef LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_SLICE_H_
#define LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_SLICE_H_

#include <cstdint>

#include "reference/contract/mamba3_scan.h"

namespace lockstep::verify {

struct ScanSlice {
  Mamba3ScanProblem problem;
  Mamba3ScanInputs inputs;
};

// Tokens first .. end - 1 of one row and head as one run, from the carry of
// `run` where there is one. Requires: first < end.
ScanSlice SliceHead(const Mamba3ScanProblem& problem,
                    const Mamba3ScanInputs& inputs, int64_t row, int64_t first,
                    int64_t end, int64_t head, int64_t run);

// Token t of every row, from `carry`: what a step computes.
//   Requires: one run per row.
ScanSlice SliceStep(const Mamba3ScanProblem& problem,
                    const Mamba3ScanInputs& inputs, int64_t t,
                    const Mamba3Carry<const float>& carry);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_SLICE_H_
