// The error of a name that is no compiled target's.
#ifndef LOCKSTEP_OPTIMIZED_UNKNOWN_TARGET_H_
#define LOCKSTEP_OPTIMIZED_UNKNOWN_TARGET_H_

#include <string>

namespace lockstep::optimized {

// Says in one line which targets there are. Highway's two names for AVX3 with
// the bf16 dot instruction lead to AVX3.
std::string UnknownTarget(const std::string& name);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_UNKNOWN_TARGET_H_
