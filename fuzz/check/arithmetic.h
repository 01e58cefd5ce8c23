// Which rounding a kernel may have, found by trying, and what stands in its
// profile.
#ifndef LOCKSTEP_FUZZ_CHECK_ARITHMETIC_H_
#define LOCKSTEP_FUZZ_CHECK_ARITHMETIC_H_

#include <string>
#include <vector>

#include "fuzz/check/look.h"

namespace lockstep::fuzz::check {

// Built-in profiles of a lane ("f32"), the strictest first.
std::vector<std::string> ArithmeticsOf(const std::string& lane);

// A profile on one line: the arithmetic of a built-in one, and the conventions
// that were seen. `bits`: the same call gives the same bits, as pairs of calls
// are compared.
std::string ProfileOf(const std::string& base, const Looked& looked,
                      bool bits = false);

}  // namespace lockstep::fuzz::check

#endif  // LOCKSTEP_FUZZ_CHECK_ARITHMETIC_H_
