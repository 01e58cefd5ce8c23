// Sums of products in the steps of GPU matrix units (N21), in integers.
#ifndef LOCKSTEP_REFERENCE_MATRIX_UNIT_H_
#define LOCKSTEP_REFERENCE_MATRIX_UNIT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/contract/matrix_units.h"

namespace lockstep::reference {

// A step of products a[i] * b[i], in the format of the operands, beside the
// accumulator c: all three as bits, and the result. A NaN is 0x7fffffff, or
// 0x7fff of f16.
//   Requires: as many a as b, at most kMostStepProducts.
struct StepFormats {
  NumberFormat operand;
  NumberFormat accumulator;
};
uint32_t AddStep(const UnitStep& step, const StepFormats& formats,
                 std::span<const uint32_t> a, std::span<const uint32_t> b,
                 uint32_t c);

// A chain of instructions of k products each, over all of a and b.
//   Requires: k divides their number.
uint32_t AddInstructions(const MatrixUnit& unit, int k,
                         std::span<const uint32_t> a,
                         std::span<const uint32_t> b, uint32_t c);

// The sum of a[i] * b[i], bf16 values in f32, from +0: a step is the indices
// from one multiple of L to the next. Indices that are not added are zeros.
class StepSum {
 public:
  explicit StepSum(const UnitStep& step) : step_(step) {}

  // Requires: index is larger than in the call before.
  void Add(int64_t index, float a, float b);
  float Total();

 private:
  void EndStep();

  UnitStep step_;
  int64_t number_ = 0;  // of the step that a and b are of
  std::array<uint32_t, kMostStepProducts> a_, b_;
  size_t count_ = 0;  // of them
  uint32_t sum_ = 0;  // of the steps before it, as bits of f32
};

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_MATRIX_UNIT_H_
