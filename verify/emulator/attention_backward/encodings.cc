// The kernel of gradients on plain tensors, ragged batches and lists.
#include "verify/emulator/attention_backward/kernel.h"

namespace lockstep::verify {

void GradEmulator::Run(const AttentionBackwardProblem& problem,
                       const AttentionBackwardInputs& inputs,
                       const AttentionBackwardOutputs& outputs,
                       const AttentionForwardOutputs& own) const {
  RunWith(breaks_lists() ? GradFault::kNone : fault_, problem, inputs, outputs,
          own);
}

void GradEmulator::RunListed(const AttentionBackwardProblem& problem,
                             const AttentionBackwardInputs& inputs,
                             const ListedKeys& listed,
                             const AttentionBackwardOutputs& outputs,
                             const AttentionForwardOutputs& own) const {
  const TakenLists taken =
      TakeLists(problem.forward, inputs.forward, listed, ListDial(fault_));
  AttentionBackwardProblem read = problem;
  read.forward = taken.problem;
  AttentionBackwardInputs from = inputs;
  from.forward = taken.inputs;
  RunWith(fault_, read, from, outputs, own);
}

void GradEmulator::RunVarlen(const AttentionBackwardProblem& problem,
                             const AttentionBackwardInputs& inputs,
                             const AttentionForwardInputs& tokens,
                             const VarlenRows& rows,
                             const AttentionBackwardOutputs& outputs,
                             const AttentionForwardOutputs& own) const {
  const TakenGradients taken =
      TakeGradients(problem, inputs, tokens, rows, fault_);
  Run(taken.problem, taken.inputs, outputs, own);
  MisplaceGradients(problem, inputs, fault_, outputs);
}

}  // namespace lockstep::verify
