// Which rounding a kernel may have, found by trying, and what stands in its
// profile.
#ifndef LOCKSTEP_FUZZ_CHECK_ARITHMETIC_H_
#define LOCKSTEP_FUZZ_CHECK_ARITHMETIC_H_

#include <string>
#include <vector>

#include "fuzz/check/look.h"

namespace lockstep::fuzz::check {

struct Arithmetic {
  std::string name;    // for people
  std::string base;    // of its profile
  std::string fields;  // beside those of the base, each with "; " before it
};

// The roundings that kernels of a lane ("f32") may have, the strictest first.
std::vector<Arithmetic> ArithmeticsOf(const std::string& lane);
// The profile that this kernel states, or else the roundings of its lane.
std::vector<Arithmetic> ArithmeticsOf(const Looked& looked,
                                      const std::string& lane);

// A profile on one line: that arithmetic, and the conventions that were seen.
// `bits`: the same call gives the same bits, as pairs of calls are compared.
std::string ProfileOf(const Arithmetic& arithmetic, const Looked& looked,
                      bool bits = false);

}  // namespace lockstep::fuzz::check

#endif  // LOCKSTEP_FUZZ_CHECK_ARITHMETIC_H_
