// The check at start-up that an instruction set computes what binary64 says.
// The oracle's error bounds are those of correctly rounded primitives: a
// library whose fma rounds twice breaks them without breaking a build.
#ifndef LOCKSTEP_VERIFY_ORACLE_LANE_CHECK_H_
#define LOCKSTEP_VERIFY_ORACLE_LANE_CHECK_H_

#include <string>

#include "reference/contract/status.h"
#include "verify/oracle/lane_primitives.h"

namespace lockstep::oracle {

// Every primitive on edge values in all combinations and on some thousand
// pseudo-random lanes, against scalar C++; NaNs count as one, zeros by sign.
// Errors: the first wrong primitive, with its operands and both results.
Status CheckLanes(const std::string& target, const LaneLoops& loops);

// CheckLanes of every target that this CPU runs. Less than a millisecond each.
Status CheckTargets();

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_LANE_CHECK_H_
