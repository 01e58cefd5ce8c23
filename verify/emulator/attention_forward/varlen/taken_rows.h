// How an emulated kernel with a bug finds the rows of a ragged batch.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VARLEN_TAKEN_ROWS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VARLEN_TAKEN_ROWS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/attention_varlen.h"
#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

// Whether the fault of the dial is one of ragged batches.
bool BreaksVarlen(const FaultDial& dial);

// The queries, keys and values that the kernel takes from the tokens, as padded
// rows in memory of their own. Elements that it does not read are zeros.
struct TakenRows {
  std::vector<uint8_t> q, k, v;
  AttentionForwardInputs inputs;  // q, k, v and valid_kv are the kernel's
  AttentionForwardProblem problem;
};

//   Requires: CheckVarlen(problem, inputs, rows, ...).ok().
TakenRows TakeRows(const AttentionForwardProblem& problem,
                   const AttentionForwardInputs& inputs, const VarlenRows& rows,
                   const FaultDial& dial);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VARLEN_TAKEN_ROWS_H_
