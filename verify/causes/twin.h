// A large case made small with what it is about: the same masks, heads, groups,
// channels and numbers on fewer tokens.
#ifndef LOCKSTEP_VERIFY_CAUSES_TWIN_H_
#define LOCKSTEP_VERIFY_CAUSES_TWIN_H_

#include <cstdint>
#include <optional>

#include "verify/case/case.h"

namespace lockstep::verify {

// With lengths of `side` / 2 to `side` where they were longer; windows, chunks,
// prefixes and documents have shrunk as much. None: nothing is that long, or
// the op has no twins.
std::optional<Case> TwinOf(const Case& c, int64_t side);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CAUSES_TWIN_H_
