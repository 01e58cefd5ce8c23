// How an emulated kernel of gradients with a bug finds the rows of a ragged
// batch, and where it writes them.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_VARLEN_TAKEN_GRADIENTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_VARLEN_TAKEN_GRADIENTS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_backward.h"
#include "reference/contract/attention_varlen.h"
#include "verify/emulator/attention_backward/faults.h"
#include "verify/emulator/attention_forward/varlen/taken_rows.h"

namespace lockstep::verify {

// Whether the fault is one of ragged batches.
bool BreaksVarlen(GradFault fault);

// The inputs that the kernel takes from the tokens, as padded rows.
struct TakenGradients {
  TakenRows forward;
  std::vector<uint8_t> o;
  std::vector<float> lse;
  AttentionBackwardProblem problem;
  AttentionBackwardInputs inputs;
};

// `inputs` are padded rows. `tokens` are the forward inputs of the same rows as
// a ragged batch, as in CheckVarlen.
TakenGradients TakeGradients(const AttentionBackwardProblem& problem,
                             const AttentionBackwardInputs& inputs,
                             const AttentionForwardInputs& tokens,
                             const VarlenRows& rows, GradFault fault);

// Moves gradients of padded rows to where the kernel writes them.
void MisplaceGradients(const AttentionBackwardProblem& problem,
                       const AttentionBackwardInputs& inputs, GradFault fault,
                       const AttentionBackwardOutputs& outputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_VARLEN_TAKEN_GRADIENTS_H_
