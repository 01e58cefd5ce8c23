// The points at which an emulated scan can be made wrong. What each breaks, and
// the mutant that switches it on: verify/emulator/mamba3_scan/bugs.inc.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_FAULTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_FAULTS_H_

#include <cstdint>

namespace lockstep::verify {

// A row of the catalogue is a point, too: the one place where a bug is listed.
#define BUG(point, ...) point,
#define SAME_BUG(point, ...)
enum class ScanFault : uint16_t {
  kNone,
#include "verify/emulator/mamba3_scan/bugs.inc"
#include "verify/emulator/ssd_scan/bugs.inc"
};
#undef BUG
#undef SAME_BUG

// One bug, or two at once.
struct ScanDial {
  ScanFault fault = ScanFault::kNone;
  ScanFault second = ScanFault::kNone;
  bool Is(ScanFault f) const { return fault == f || second == f; }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_FAULTS_H_
