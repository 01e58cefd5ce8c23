// The values that an emulated kernel with a bug reads as v, where v is in k.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ALIAS_TAKEN_VALUES_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ALIAS_TAKEN_VALUES_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

// Whether a bug of the dial is one of v in k.
bool BreaksAlias(const FaultDial& dial);

// The problem that the kernel computes; q and v have memory of their own.
struct TakenValues {
  std::vector<uint8_t> q, v;
  AttentionForwardProblem problem;
  AttentionForwardInputs inputs;
};

//   Requires: problem.v_in_k, Validate of problem and inputs.
TakenValues TakeValues(const AttentionForwardProblem& problem,
                       const AttentionForwardInputs& inputs,
                       const FaultDial& dial);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ALIAS_TAKEN_VALUES_H_
