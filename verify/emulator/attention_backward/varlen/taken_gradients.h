// How an emulated kernel of gradients with a bug finds batch rows that lie end
// to end, and where it writes them.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_VARLEN_TAKEN_GRADIENTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_VARLEN_TAKEN_GRADIENTS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_backward.h"
#include "reference/contract/attention_varlen.h"
#include "verify/emulator/attention_backward/faults.h"
#include "verify/emulator/attention_forward/varlen/taken_rows.h"

namespace lockstep::verify {

// Whether it is a bug of rows that lie end to end.
bool BreaksVarlen(GradFault fault);

// The inputs as the kernel takes them out of the tokens: rows of one length.
struct TakenGradients {
  TakenRows forward;
  std::vector<uint8_t> o;
  std::vector<float> lse;
  AttentionBackwardProblem problem;
  AttentionBackwardInputs inputs;
};

// `inputs`: rows of one length; `tokens`: the forward op's of the same rows, as
// CheckVarlen has them.
TakenGradients TakeGradients(const AttentionBackwardProblem& problem,
                             const AttentionBackwardInputs& inputs,
                             const AttentionForwardInputs& tokens,
                             const VarlenRows& rows, GradFault fault);

// Puts gradients of rows of one length where the kernel writes them.
void MisplaceGradients(const AttentionBackwardProblem& problem,
                       const AttentionBackwardInputs& inputs, GradFault fault,
                       const AttentionBackwardOutputs& outputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_VARLEN_TAKEN_GRADIENTS_H_
