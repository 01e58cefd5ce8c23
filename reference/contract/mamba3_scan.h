// mamba3_scan: the Mamba-3 state-space recurrence over packed sequences. The
// static problem, the inputs and the outputs. Source: docs/ops/mamba3_scan.md;
// arithmetic: clause N15 of docs/numerics.md.
//
// Axes, in shapes: b row, t token, h head, g group, r rank, n state, p channel,
// s angle, run. Head h reads group floor(h / (heads / groups)).
#ifndef LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_SCAN_H_
#define LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_SCAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/contract/limits.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {

// The static contract: a change of any field is another kernel.
struct Mamba3ScanProblem {
  enum class Variant : uint8_t {
    kSiso,  // one rank; angle s turns coordinates 2s and 2s + 1
    kMimo,  // angle s turns coordinates s and s + state_dim / 2
  };
  enum class Runs : uint8_t {
    kRows,       // every row is one run
    kSegments,   // a longest stretch of equal segment ids is a run
    kCuSeqlens,  // run i holds tokens cu_seqlens[i] .. cu_seqlens[i + 1] - 1
  };

  int64_t batch = 1;      // b
  int64_t length = 1;     // t, tokens of a row
  int64_t heads = 1;      // h
  int64_t groups = 1;     // g, divides heads
  int64_t ranks = 1;      // r
  int64_t state_dim = 1;  // n
  int64_t head_dim = 1;   // p
  int64_t angles = 0;     // s, at most state_dim / 2
  Variant variant = Variant::kSiso;
  Lane lane = Lane::kF32;          // of q, k, v, z, tau, vartheta and y
  Lane rotated_lane = Lane::kF32;  // rotated q and k are rounded to it
  Runs runs = Runs::kRows;
  bool bias = false;  // bq, bk are added before the rotation
  bool skip = false;  // D x is added to the output
  bool gate = false;  // the output is multiplied by silu(z)
  // MIMO: y is the sum over the ranks, weighted by phi, and one rank wide.
  bool reduce = false;
  // The output is normalised over p, before the gate: epsilon > 0.
  std::optional<double> norm_epsilon;
  bool carry_in = false;  // each run starts from a carry instead of zeros

  bool mimo() const { return variant == Variant::kMimo; }
  int64_t group() const { return heads / groups; }
  int64_t output_ranks() const { return reduce ? 1 : ranks; }
  friend bool operator==(const Mamba3ScanProblem&,
                         const Mamba3ScanProblem&) = default;
};

// What a run leaves behind, or starts from, f32. All of it or none (all null).
template <typename T>
struct Mamba3Carry {
  TensorView<T, 3> theta;  // [run, h, s] cumulative angle in turns
  TensorView<T, 4> h;      // [run, h, p, n] state
  TensorView<T, 4> k;      // [run, r, h, n] last k, biased and rotated
  TensorView<T, 3> v;      // [run, h, p] last v, before psi

  bool given() const { return h.data != nullptr; }
};

// Tensors and runtime payload. What the problem does not ask for stays null.
// Every view may broadcast (stride 0).
struct Mamba3ScanInputs {
  BasicLaneView<const void, 5> q;    // [b, t, r, g, n]
  BasicLaneView<const void, 5> k;    // [b, t, r, g, n]
  LaneView v;                        // [b, t, h, p]
  TensorView<const float, 3> a;      // [b, h, t] logarithm of the decay, <= 0
  TensorView<const float, 3> dt;     // [b, h, t] step size, >= 0
  BasicLaneView<const void, 3> tau;  // [b, h, t] logit of the mixing weight
  LaneView vartheta;                 // [b, t, h, s] angle rate before tanh
  TensorView<const float, 3> bq;     // [h, r, n] with bias
  TensorView<const float, 3> bk;     // [h, r, n] with bias
  TensorView<const float, 1> d;      // [h] with skip
  LaneView z;                        // [b, t, h, p] with gate
  TensorView<const float, 3> psi;    // [h, r, p] MIMO: x = psi v
  TensorView<const float, 3> zeta;   // [h, r, p] MIMO with gate: silu(zeta z)
  TensorView<const float, 3> phi;    // [h, r, p] MIMO with reduce
  TensorView<const float, 2> norm_weight;  // [h, p] with norm_epsilon
  Mamba3Carry<const float> carry;          // with carry_in
  TensorView<const int32_t, 2> segments;   // [b, t] with Runs::kSegments
  std::vector<int64_t> cu_seqlens;         // with Runs::kCuSeqlens, b = 1
};

struct Mamba3ScanOutputs {
  BasicLaneView<void, 5> y;  // [b, t, output_ranks, h, p]
  // Of every run, row by row; none is exported where all is null. May be the
  // very memory of the inputs' carry.
  Mamba3Carry<float> carry;
};

// How many runs there are: rows, and in a row from left to right. A run of
// cu_seqlens may be empty.
//   Requires: segments or cu_seqlens as Validate() wants them.
int64_t CountRuns(const Mamba3ScanProblem& problem,
                  const Mamba3ScanInputs& inputs);

// Refuses every problem that has no meaning, naming the field, its value and
// what would be right. Allocates nothing that grows with the extents.
Status Validate(const Mamba3ScanProblem& problem);

// The same, and that the tensors agree with the problem. Checked are presence,
// shapes, lanes and strides (inputs >= 0, outputs without overlap). Runs have
// to cover the row; a is finite and <= 0, dt finite and >= 0. q, k, v, z, tau,
// vartheta and the carry may hold NaN and infinity: they reach their own run
// only.
//   Requires: nothing; calls Validate(problem) first.
Status Validate(const Mamba3ScanProblem& problem,
                const Mamba3ScanInputs& inputs,
                const Mamba3ScanOutputs& outputs);

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_MAMBA3_SCAN_H_
