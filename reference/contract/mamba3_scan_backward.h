// mamba3_scan_backward: the gradients of mamba3_scan. The static problem, the
// inputs and the outputs. Source: docs/ops/mamba3_scan_backward.md; arithmetic:
// clause N19 of docs/numerics.md. Axes, in shapes, are those of
// reference/contract/mamba3_scan.h.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_SCAN_BACKWARD_H_
#define LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_SCAN_BACKWARD_H_

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {

// The static contract: a change of any field is another kernel.
struct Mamba3ScanBackwardProblem {
  Mamba3ScanProblem forward;
  // Of dq, dk, dv, dtau, dvartheta and dz: forward.lane, or f32.
  Lane grad_lane = Lane::kF32;
  // Inputs have the cotangent of the carry that each run leaves behind.
  bool carry_grad = false;
};

// Tensors and runtime payload; what the problem does not ask for stays null.
// Every view may broadcast (stride 0).
struct Mamba3ScanBackwardInputs {
  Mamba3ScanInputs forward;
  BasicLaneView<const void, 5> dy;  // the cotangent of y, its shape and lane
  // The cotangent of the exported carry, with carry_grad; that of theta is per
  // turn, as theta is in turns.
  Mamba3Carry<const float> dcarry;
};

// The gradient of every input, of the input's shape; null where the problem
// does not have that input.
struct Mamba3ScanBackwardOutputs {
  BasicLaneView<void, 5> dq;          // [b, t, r, g, n] grad_lane
  BasicLaneView<void, 5> dk;          // [b, t, r, g, n] grad_lane
  MutableLaneView dv;                 // [b, t, h, p] grad_lane
  TensorView<float, 3> da;            // [b, h, t]
  TensorView<float, 3> ddt;           // [b, h, t]
  BasicLaneView<void, 3> dtau;        // [b, h, t] grad_lane
  MutableLaneView dvartheta;          // [b, t, h, s] grad_lane
  TensorView<float, 3> dbq;           // [h, r, n] with bias
  TensorView<float, 3> dbk;           // [h, r, n] with bias
  TensorView<float, 1> dd;            // [h] with skip
  MutableLaneView dz;                 // [b, t, h, p] grad_lane, with gate
  TensorView<float, 3> dpsi;          // [h, r, p] MIMO
  TensorView<float, 3> dzeta;         // [h, r, p] MIMO with gate
  TensorView<float, 3> dphi;          // [h, r, p] MIMO with reduce
  TensorView<float, 2> dnorm_weight;  // [h, p] with norm_epsilon
  Mamba3Carry<float> dcarry;          // of the initial carry, with carry_in
};

// Refuses every problem that has no meaning, naming the field, its value and
// what would be right. Allocates nothing that grows with the extents.
Status Validate(const Mamba3ScanBackwardProblem& problem);

// The same, and that the tensors agree with the problem. Checked are presence,
// shapes, lanes and strides (inputs >= 0, outputs without overlap). Runs have
// to cover the row; a is finite and <= 0, dt finite and >= 0. Anything else may
// hold NaN and infinity.
Status Validate(const Mamba3ScanBackwardProblem& problem,
                const Mamba3ScanBackwardInputs& inputs,
                const Mamba3ScanBackwardOutputs& outputs);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_SCAN_BACKWARD_H_
