// Cases of attention for bugs that need what no row of the cover has: one for
// each, which only that bug meets.
#ifndef LOCKSTEP_VERIFY_SELFTEST_LENGTHS_OWN_CASES_H_
#define LOCKSTEP_VERIFY_SELFTEST_LENGTHS_OWN_CASES_H_

#include <cstdint>
#include <vector>

#include "verify/selftest/lengths/cases.h"

namespace lockstep::verify {

//   Requires: length >= 64.
std::vector<LengthCase> OwnLengthCases(int64_t length);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_LENGTHS_OWN_CASES_H_
