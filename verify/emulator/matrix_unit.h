// What one step of a GPU's matrix unit computes, in binary64, and ways to get
// it wrong. Written independently of reference/, from docs/gpu-units.md.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MATRIX_UNIT_H_
#define LOCKSTEP_VERIFY_EMULATOR_MATRIX_UNIT_H_

#include <cstdint>
#include <vector>

#include "reference/contract/matrix_units.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {

// A step as the chip has it; every other member, if true, is a fault.
struct UnitRules {
  UnitStep step;
  // Smallest exponents of an operand, and of the accumulator.
  int operand_least = -126;
  int sum_least = -126;

  bool terms_nearest = false;     // terms rounded, not cut
  bool sums_nearest = false;      // what a step leaves rounded otherwise
  bool sum_apart = false;         // the accumulator is added after the step
  bool normalised_first = false;  // a product has its own exponent
};

// acc + the products of the chain, at most L of them, as one step leaves it.
// Factors and acc are numbers of their types; so is the result.
float AddStep(const UnitRules& rules, const Chain& chain, float acc);

// The chain in steps of L, ascending.
float AddSteps(const UnitRules& rules, const Chain& chain, float acc);

// Instructions of k fp8 products on a chip that makes two f16 instructions of
// each; the rules are those of f16. Products 0 and 1 of every 4 are summed from
// zero, then 2 and 3. acc is added to the result, rounded to nearest.
float AddByF16(const UnitRules& rules, int k, const Chain& chain, float acc);

// The sum of a * b from +0, where step n is the indices n * L to n * L + L - 1
// and those that are left out are zeros (N21).
class StepSum {
 public:
  explicit StepSum(const UnitRules& rules) : rules_(rules) {}

  // Requires: indices ascend.
  void Add(int64_t index, float a, float b);
  float Result();

 private:
  const UnitRules rules_;
  float sum_ = 0;
  int64_t step_ = 0;
  std::vector<float> a_, b_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MATRIX_UNIT_H_
