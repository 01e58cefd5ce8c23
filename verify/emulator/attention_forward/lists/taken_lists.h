// How an emulated kernel with a bug reads the lists of keys.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_LISTS_TAKEN_LISTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_LISTS_TAKEN_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/tensor_view.h"
#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

// Whether a bug of the dial is one of lists.
bool BreaksLists(const FaultDial& dial);

// Lists of keys [batch, kv head, query, entry], in place of which others have
// the dense mask of that number.
struct ListedKeys {
  TensorView<const int32_t, 4> lists;
  size_t dense = 0;
};

// The mask that the kernel makes of the lists, of every query head. An element
// counts how often its key is in the list.
struct TakenLists {
  std::vector<uint8_t> mask;
  AttentionForwardInputs inputs;  // with that mask
  AttentionForwardProblem problem;
};

//   Requires: lists name keys of the problem, or none.
TakenLists TakeLists(const AttentionForwardProblem& problem,
                     const AttentionForwardInputs& inputs,
                     const ListedKeys& listed, const FaultDial& dial);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_LISTS_TAKEN_LISTS_H_
