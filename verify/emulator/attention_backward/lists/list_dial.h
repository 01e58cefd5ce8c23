// Bugs of lists that gradients have as attention has them.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_LISTS_LIST_DIAL_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_LISTS_LIST_DIAL_H_

#include "verify/emulator/attention_backward/faults.h"
#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

inline bool BreaksLists(GradFault fault) {
  return fault >= GradFault::kListOfNextQuery &&
         fault <= GradFault::kListScatterOverwrites;
}

// What breaks the reading of lists in the same way; nothing for other bugs.
inline FaultDial ListDial(GradFault fault) {
  constexpr double kNarrowBits = 3;
  if (!BreaksLists(fault) || fault == GradFault::kListScatterOverwrites) {
    return {};
  }
  // Both catalogues have these bugs in one order.
  const int place =
      static_cast<int>(fault) - static_cast<int>(GradFault::kListOfNextQuery);
  return {static_cast<Fault>(static_cast<int>(Fault::kListOfNextQuery) + place),
          kNarrowBits};
}
static_assert(static_cast<int>(GradFault::kListKeyNarrow) -
                  static_cast<int>(GradFault::kListOfNextQuery) ==
              static_cast<int>(Fault::kListKeyNarrow) -
                  static_cast<int>(Fault::kListOfNextQuery));

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_LISTS_LIST_DIAL_H_
