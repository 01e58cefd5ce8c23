// How an emulated kernel whose offsets have too few bits finds the rows of
// tensors that reach far.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FAR_TAKEN_FAR_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FAR_TAKEN_FAR_H_

#include <array>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

// Whether a bug of the dial is one of offsets with too few bits.
bool BreaksFar(const FaultDial& dial);

// q, k and v as the kernel takes them: dense, in memory of their own.
struct TakenFar {
  std::vector<uint8_t> q, k, v;
  AttentionForwardInputs inputs;
};

//   Requires: Validate of inputs.
TakenFar TakeFar(const AttentionForwardInputs& inputs, const FaultDial& dial);

// Whether the kernel stores row [b, h, i] of o, and its lse.
bool StoresFarOutput(const MutableLaneView& o,
                     const std::array<int64_t, 3>& row, const FaultDial& dial);
bool StoresFarLse(const MutableLaneView& o, const std::array<int64_t, 3>& row,
                  const FaultDial& dial);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FAR_TAKEN_FAR_H_
