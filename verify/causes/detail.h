// What a bug of the catalogue means in one case, in its numbers.
#ifndef LOCKSTEP_VERIFY_CAUSES_DETAIL_H_
#define LOCKSTEP_VERIFY_CAUSES_DETAIL_H_

#include <string>

#include "verify/case/case.h"

namespace lockstep::verify {

// " (1001 for 1000)", to follow the bug's sentence; empty: there is
// nothing to add.
std::string DetailOf(const std::string& bug, const Case& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CAUSES_DETAIL_H_
