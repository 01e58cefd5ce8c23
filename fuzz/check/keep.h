// check --write: what it found as files that a gate takes.
#ifndef LOCKSTEP_FUZZ_CHECK_KEEP_H_
#define LOCKSTEP_FUZZ_CHECK_KEEP_H_

#include <string>
#include <vector>

#include "fuzz/check/check.h"
#include "reference/contract/status.h"

namespace lockstep::fuzz::check {

// The files that a kernel of that name has, in the working directory:
// a configuration, cases, a profile, a workflow.
std::vector<std::string> FilesOf(const std::string& kernel);

// Errors: one of them is there; nothing is replaced.
Status CheckFree(const std::string& kernel);

// Writes all of them. Errors: as CheckFree, and a file that cannot be written.
Status Keep(const std::string& kernel, const Outcome& outcome);

}  // namespace lockstep::fuzz::check

#endif  // LOCKSTEP_FUZZ_CHECK_KEEP_H_
