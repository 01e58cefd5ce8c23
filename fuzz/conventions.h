// Conventions are what a kernel makes of NaN. They are told apart from bugs.
#ifndef LOCKSTEP_FUZZ_CONVENTIONS_H_
#define LOCKSTEP_FUZZ_CONVENTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "fuzz/trial.h"
#include "verify/case/case.h"

namespace lockstep::fuzz {

struct Convention {
  std::string field;  // "masked_nan_safe = no"; empty: no field states it
  std::optional<verify::NumericProfile> profile;  // with that field
};

// Tells whether a finding of NaN goes with a field of the profile. Where none
// states it, it tells whether NaN, infinities and huge inputs bring it: the
// case with ordinary numbers is right then, or a law put NaN into its inputs.
//   Requires: outcome.nan, target.profile.
std::optional<Convention> ConventionOf(
    const std::vector<verify::Case>& sequence, const Outcome& outcome,
    const Target& target);

// Says it to people, without a line break.
std::string ConventionText(const Convention& convention);

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_CONVENTIONS_H_
