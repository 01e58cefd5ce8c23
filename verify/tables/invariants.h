// What sound tables have in common, whatever their dialect: fourteen
// invariants, each checked against the mask of every pair.
#ifndef LOCKSTEP_VERIFY_TABLES_INVARIANTS_H_
#define LOCKSTEP_VERIFY_TABLES_INVARIANTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "verify/tables/intended_mask.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

enum class Invariant : uint8_t {
  kVisitedOnce = 1,   // I1
  kFullIsFull,        // I2
  kSkippedIsEmpty,    // I3
  kBlockIsMask,       // I4
  kTransposeAgrees,   // I5
  kIndexInRange,      // I6
  kPaddingIsInert,    // I7
  kGridWidth,         // I8
  kEveryTileStored,   // I9
  kVisitsTogether,    // I10
  kIndexFitsType,     // I11
  kSharedTableAlike,  // I12
  kEffectiveMask,     // I13
  kNothingInVain,     // I14
};

struct InvariantInfo {
  Invariant invariant;
  const char* name;       // "I1"
  const char* statement;  // what holds in sound tables
};
std::span<const InvariantInfo> Invariants();
const InvariantInfo& InfoOf(Invariant invariant);

struct Violation {
  Invariant invariant;
  int64_t count = 0;    // how many places
  std::string message;  // "I3: forward, head 0: ..." of the first place
};

// Every invariant that does not hold, in order; none if the tables are sound.
// Time and memory O(pairs * heads * directions).
//   Requires: the trace has the heads and the lengths of the mask.
std::vector<Violation> CheckPlan(const PlanTrace& trace,
                                 const IntendedMask& mask);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_INVARIANTS_H_
