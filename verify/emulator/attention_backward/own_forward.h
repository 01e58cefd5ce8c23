// The forward pass that an emulated kernel of attention's gradients runs for
// itself, if it is one that does.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_OWN_FORWARD_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_OWN_FORWARD_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_backward.h"
#include "verify/emulator/attention_backward/faults.h"
#include "verify/emulator/attention_backward/kernel.h"

namespace lockstep::verify {

class OwnForwardPass {
 public:
  // Runs it where the variant has grad.from = own.
  OwnForwardPass(const AttentionBackwardProblem& problem,
                 const AttentionBackwardInputs& inputs,
                 const GradVariant& variant, GradFault fault);
  // `inputs()` points into it.
  OwnForwardPass(const OwnForwardPass&) = delete;
  OwnForwardPass& operator=(const OwnForwardPass&) = delete;

  // With the o and lse that the gradients are of.
  const AttentionBackwardInputs& inputs() const { return used_; }
  // Those of the forward pass, or the given ones; null: is not asked for.
  void HandBack(const AttentionForwardOutputs& own) const;

 private:
  void Run(const AttentionBackwardProblem& problem, const GradVariant& variant,
           GradFault fault);
  // A fault between the two passes.
  void Misuse(const AttentionForwardProblem& problem, GradFault fault);

  AttentionBackwardInputs used_;
  LaneView o_;                      // as it is handed back
  TensorView<const float, 3> lse_;  // likewise
  std::vector<uint8_t> own_o_, used_o_;
  std::vector<float> own_lse_, used_lse_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_OWN_FORWARD_H_
