// Cases of attention for bugs that need what no row of the cover has: one for
// each, which only that bug meets.
#ifndef LOCKSTEP_TESTS_POWER_LENGTHS_OWN_CASES_H_
#define LOCKSTEP_TESTS_POWER_LENGTHS_OWN_CASES_H_

#include <cstdint>
#include <vector>

#include "tests/power/lengths/cases.h"

namespace lockstep::verify {

//   Requires: length >= 64.
std::vector<LengthCase> OwnLengthCases(int64_t length);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_LENGTHS_OWN_CASES_H_
