// Whether the judge admits its limits: on some cases no rule can show some
// bugs, and it has to name them there.
#ifndef LOCKSTEP_TESTS_POWER_LENGTHS_ADMITTED_H_
#define LOCKSTEP_TESTS_POWER_LENGTHS_ADMITTED_H_

#include <string>

#include "reference/contract/status.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {

// The kind of planted fault that the bug is one of, as the judge names kinds;
// null: a bug that must be proved.
const char* FaultKindOf(const MutantInfo& info);

// Whether the judge, given the mutant on this very case, names the kind among
// those that nothing shows there ("unprobed"). Takes a whole verdict: seconds
// at 4096 keys.
//   `spec`: "mutant:NAME,base=B". Errors: what the candidate or the case is
//   refused for.
Result<bool> Admitted(const std::string& line, const std::string& spec,
                      const std::string& kind);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_LENGTHS_ADMITTED_H_
