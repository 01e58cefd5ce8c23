// The points at which an emulated attention kernel can be made wrong. What
// each breaks, and the mutant that switches it on: bugs.inc.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FAULTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FAULTS_H_

#include <array>
#include <cstdint>

namespace lockstep::verify {

// A row of the catalogue is a point, too: the one place where a bug is listed.
#define BUG(point, ...) point,
enum class Fault : uint16_t {
  kNone,
#include "verify/emulator/attention_forward/alias/bugs.inc"
#include "verify/emulator/attention_forward/bugs.inc"
#include "verify/emulator/attention_forward/bugs_layout.inc"
#include "verify/emulator/attention_forward/bugs_reported.inc"
#include "verify/emulator/attention_forward/far/bugs.inc"
#include "verify/emulator/attention_forward/fp8/bugs.inc"
// Last: their points are told from the others by their place.
#include "verify/emulator/attention_forward/lists/bugs.inc"
#include "verify/emulator/attention_forward/pages/bugs.inc"
#include "verify/emulator/attention_forward/varlen/bugs.inc"
};
#undef BUG

// One bug, or two at once.
struct FaultDial {
  Fault fault = Fault::kNone;
  double severity = 0;  // what it counts: the catalogue's column `dial`
  Fault second = Fault::kNone;
  double second_severity = 0;

  bool IsHonest() const {
    return fault == Fault::kNone && second == Fault::kNone;
  }
  // Requires: f is a bug.
  bool Is(Fault f) const { return fault == f || second == f; }
  double SeverityOf(Fault f) const {
    return second == f ? second_severity : severity;
  }
  std::array<Fault, 2> Faults() const { return {fault, second}; }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_FAULTS_H_
