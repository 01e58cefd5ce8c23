// Random cases for property tests: every key, every mask term and fill family,
// legal grammar, not always meaningful.
#ifndef LOCKSTEP_TESTS_VERIFY_RANDOM_CASE_H_
#define LOCKSTEP_TESTS_VERIFY_RANDOM_CASE_H_

#include <cstdint>

#include "verify/case/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {

// A function of `seed`, the same on every machine.
Case RandomCase(uint64_t seed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_RANDOM_CASE_H_
