// Parts of a scan as problems of their own: views into the same memory.
#ifndef LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_SLICE_H_
#define LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_SLICE_H_

#include <cstddef>
#include <cstdint>

#include "reference/contract/mamba3_scan.h"
#include "reference/runs.h"

namespace lockstep::verify {

// Elements `first` .. `first` + `extent` - 1 of a view along one axis. A view
// of nothing stays.
template <typename T, size_t kRank>
void Narrow(TensorView<T, kRank>* view, size_t axis, int64_t first,
            int64_t extent) {
  if (view->data == nullptr) return;
  view->data += first * view->strides[axis];
  view->shape[axis] = extent;
}
template <size_t kRank>
void Narrow(BasicLaneView<const void, kRank>* view, size_t axis, int64_t first,
            int64_t extent) {
  if (view->data == nullptr) return;
  const int64_t bytes =
      first * view->strides[axis] * static_cast<int64_t>(LaneBytes(view->lane));
  view->data = static_cast<const char*>(view->data) + bytes;
  view->shape[axis] = extent;
}
// Of a carry, or a cotangent of one. A theta without angles has its shape.
void NarrowRuns(Mamba3Carry<const float>* carry, int64_t run);

struct ScanSlice {
  Mamba3ScanProblem problem;
  Mamba3ScanInputs inputs;
};

// Tokens first .. end - 1 of one row and head as one run, from the carry of
// `run` where there is one. Requires: first < end.
ScanSlice SliceHead(const Mamba3ScanProblem& problem,
                    const Mamba3ScanInputs& inputs, int64_t row, int64_t first,
                    int64_t end, int64_t head, int64_t run);

// Heads first .. end - 1 of one group, of all runs.
struct HeadRange {
  int64_t first = 0;
  int64_t end = 0;
};
void NarrowHeads(Mamba3Carry<const float>* carry, const HeadRange& heads);
ScanSlice SliceHeads(const Mamba3ScanProblem& problem,
                     const Mamba3ScanInputs& inputs, const HeadRange& heads);
// Tokens `at` of all heads as one run, from the carry of `run` where there is
// one. Requires: at.first < at.end.
ScanSlice SliceRun(const Mamba3ScanProblem& problem,
                   const Mamba3ScanInputs& inputs, const reference::Run& at,
                   int64_t run);

// Token t of every row, from `carry`: what a step computes.
//   Requires: one run per row.
ScanSlice SliceStep(const Mamba3ScanProblem& problem,
                    const Mamba3ScanInputs& inputs, int64_t t,
                    const Mamba3Carry<const float>& carry);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_SLICE_H_
