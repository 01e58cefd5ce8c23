// ssd_scan: the Mamba-2 state-space recurrence, h = alpha h + dt x B^T,
// y = h C + D x. It is the exact degenerate case of mamba3_scan: lambda = 1, no
// angles, no biases, one rank; q is C, k is B, v is x.
// Source: docs/ops/mamba3_scan.md; axes: contract/mamba3_scan.h.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_SSD_SCAN_H_
#define LOCKSTEP_REFERENCE_CONTRACT_SSD_SCAN_H_

#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {

// The static contract; fields as in Mamba3ScanProblem.
struct SsdScanProblem {
  int64_t batch = 1;
  int64_t length = 1;
  int64_t heads = 1;
  int64_t groups = 1;
  int64_t state_dim = 1;
  int64_t head_dim = 1;
  Lane lane = Lane::kF32;  // of q, k, v, z and y
  Mamba3ScanProblem::Runs runs = Mamba3ScanProblem::Runs::kRows;
  bool skip = false;
  bool gate = false;
  bool carry_in = false;
};

struct SsdScanInputs {
  LaneView q;                             // [b, t, g, n]
  LaneView k;                             // [b, t, g, n]
  LaneView v;                             // [b, t, h, p]
  TensorView<const float, 3> a;           // [b, h, t] <= 0
  TensorView<const float, 3> dt;          // [b, h, t] >= 0
  TensorView<const float, 1> d;           // [h] with skip
  LaneView z;                             // [b, t, h, p] with gate
  TensorView<const float, 4> carry;       // [run, h, p, n] with carry_in
  TensorView<const int32_t, 2> segments;  // [b, t] with Runs::kSegments
  std::vector<int64_t> cu_seqlens;        // with Runs::kCuSeqlens, b = 1
};

struct SsdScanOutputs {
  MutableLaneView y;           // [b, t, h, p]
  TensorView<float, 4> carry;  // [run, h, p, n]; null: not exported
};

// The same scan in the words of Mamba-3. Views only: the logits are +infinity,
// the carried angles, k and v zeros, all broadcast from one element.
//   mamba3.inputs borrows what ssd_scan's inputs borrow.
struct SsdAsMamba3 {
  Mamba3ScanProblem problem;
  Mamba3ScanInputs inputs;
  BasicLaneView<void, 5> y;
};
SsdAsMamba3 AsMamba3(const SsdScanProblem& problem, const SsdScanInputs& inputs,
                     const SsdScanOutputs& outputs);

// +infinity as an element of the lane, the logit of lambda = 1.
const void* InfinityOf(Lane lane);

// Refuses what mamba3_scan refuses, and an exported carry of a wrong shape.
Status Validate(const SsdScanProblem& problem, const SsdScanInputs& inputs,
                const SsdScanOutputs& outputs);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_SSD_SCAN_H_
