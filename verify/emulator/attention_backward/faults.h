// The places at which a kernel of attention's gradients can be broken. What
// each breaks is said by the catalogue (bugs.inc).
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_FAULTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_FAULTS_H_

#include <cstdint>

namespace lockstep::verify {

// A row of the catalogue is a point, too: the one place where a bug is listed.
#define BUG(point, ...) point,
enum class GradFault : uint16_t {
  kNone,
#include "verify/emulator/attention_backward/bugs.inc"
// These stay last: their points are distinguished from the others by position.
#include "verify/emulator/attention_backward/lists/bugs.inc"
#include "verify/emulator/attention_backward/varlen/bugs.inc"
};
#undef BUG

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_FAULTS_H_
