// The places at which a merge can be broken. The catalogue (bugs.inc) says what
// each breaks.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_FAULTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_FAULTS_H_

#include <cstdint>

namespace lockstep::verify {

// A row of the catalogue is a point, too: the one place where a bug is listed.
#define BUG(point, ...) point,
enum class MergeFault : uint16_t {
  kNone,
#include "verify/emulator/attention_merge/bugs.inc"
};
#undef BUG

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_FAULTS_H_
