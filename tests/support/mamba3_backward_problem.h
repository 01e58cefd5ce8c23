// Backward scans that own their tensors, for tests: a scan, and cotangents of
// what it writes.
#ifndef LOCKSTEP_TESTS_SUPPORT_MAMBA3_BACKWARD_PROBLEM_H_
#define LOCKSTEP_TESTS_SUPPORT_MAMBA3_BACKWARD_PROBLEM_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reference/contract/mamba3_scan_backward.h"
#include "tests/support/mamba3_problem.h"

namespace lockstep::test {

// Dense gradients, poisoned so that an unwritten element is seen.
class Mamba3Gradients {
 public:
  Mamba3Gradients(const Mamba3ScanBackwardProblem& problem, int64_t runs);

  struct Part {
    std::string name;  // "dq", ..., "dcarry_v"
    Shape shape;
    Lane lane;
    bool wanted;                        // the problem has this input
    std::vector<uint32_t> data;         // storage for any lane
    std::vector<float> Values() const;  // widened
  };

  Mamba3ScanBackwardOutputs View();
  // Of all parts, in their order.
  std::vector<uint32_t> Bits() const;
  const std::vector<Part>& parts() const { return parts_; }
  // Widened. Requires: the problem has it.
  std::vector<float> Values(const std::string& name) const;
  // "dq[3]", for the first element of Bits() where two differ.
  std::string FirstDifference(const Mamba3Gradients& other) const;

 private:
  std::vector<Part> parts_;
};

struct Mamba3BackwardInstance {
  Mamba3Instance forward;
  Lane grad_lane = Lane::kF32;
  bool carry_grad = false;
  std::vector<float> dy;  // before rounding to the lane
  Mamba3CarryData dcarry;

  // Draws cotangents for the problem as it is.
  void Fill(std::mt19937& rng);
  Mamba3ScanBackwardProblem Problem() const;
  // Views into this object.
  Mamba3ScanBackwardInputs Inputs();
  // By Mamba3ScanBackward; expects Validate() to agree.
  Mamba3Gradients RunReference(int64_t checkpoint = 0);

 private:
  std::vector<uint16_t> dy_halves_;
};

// Its tensors in f16, and gradients that were in their lane, too.
void MakeF16(Mamba3BackwardInstance& instance);

// RandomMamba3 with cotangents. With `special`, single numbers that are not
// finite, tiny or huge now and then.
Mamba3BackwardInstance RandomMamba3Backward(std::mt19937& rng, Regime regime,
                                            bool special = false);

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_MAMBA3_BACKWARD_PROBLEM_H_
