// Small meaningful attention cases without end: what the zoo, the mutants and
// property tests are tried on. Not a fuzzer: no special values, no files.
#ifndef LOCKSTEP_VERIFY_SMALL_CASE_H_
#define LOCKSTEP_VERIFY_SMALL_CASE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "reference/contract/tensor_view.h"

namespace lockstep::verify {

// A case line that ValidateCase accepts, of at most about 2e5 multiply-adds: a
// function of `seed`, the same on every machine. `lane`, if given, is q's.
std::string SmallCaseLine(uint64_t seed, std::optional<Lane> lane);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SMALL_CASE_H_
