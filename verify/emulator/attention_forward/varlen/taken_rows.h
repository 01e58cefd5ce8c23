// How an emulated kernel with a bug finds batch rows that lie end to end.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VARLEN_TAKEN_ROWS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VARLEN_TAKEN_ROWS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/attention_varlen.h"
#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

// Whether a bug of the dial is one of rows that lie end to end.
bool BreaksVarlen(const FaultDial& dial);

// Queries, keys and values as the kernel takes them out of the tokens: rows of
// one length, in memory of their own. What it does not read are zeros.
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
