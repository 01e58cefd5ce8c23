// Backward problems that own their tensors, for tests of the kernels: an
// attention problem, what the forward reference makes of it, and cotangents.
#ifndef LOCKSTEP_TESTS_SUPPORT_ATTENTION_BACKWARD_PROBLEM_H_
#define LOCKSTEP_TESTS_SUPPORT_ATTENTION_BACKWARD_PROBLEM_H_

#include <cstdint>
#include <random>
#include <vector>

#include "optimized/attention_backward.h"
#include "reference/contract/attention_backward.h"
#include "tests/support/attention_problem.h"

namespace lockstep::test {

// Dense gradients, poisoned so that an unwritten element is seen.
struct Gradients {
  explicit Gradients(const AttentionBackwardProblem& problem);
  AttentionBackwardOutputs View();
  // dq, dk, dv (lane-sized elements, widened) and dsink, for comparison.
  std::vector<uint32_t> Bits() const;

  AttentionBackwardProblem problem;
  std::vector<uint32_t> dq, dk, dv;  // storage for either lane
  std::vector<float> dsink;
};

struct BackwardInstance {
  Instance forward;
  Lane grad_lane = Lane::kF32;
  bool has_dlse = false;
  std::vector<float> o;          // as the forward reference wrote it, widened
  std::vector<float> lse;        // the same
  std::vector<float> d_o, dlse;  // values before rounding to the lane

  // Draws cotangents, and runs the forward reference for o and lse.
  void Fill(std::mt19937& rng, float d_o_scale = 1.0f);
  AttentionBackwardProblem Problem() const;
  // Views into this object.
  AttentionBackwardInputs Inputs();

  Gradients RunReference();
  // Requires: the plan can be made.
  Gradients RunOptimized(
      const optimized::Caps& caps = {},
      optimized::AttentionBackwardExecution* execution = nullptr);

 private:
  std::vector<uint16_t> o_bf16_, d_o_bf16_;
};

// RandomInstance with cotangents. With `special`, single numbers that are not
// finite, tiny or huge now and then, and an lse that is not the forward's.
BackwardInstance RandomBackward(std::mt19937& rng, bool special = true);

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_ATTENTION_BACKWARD_PROBLEM_H_
