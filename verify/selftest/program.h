// Which program measured, and on what: counts of several runs may be added up
// where the program's digest is one and the seeds are not.
#ifndef LOCKSTEP_VERIFY_SELFTEST_PROGRAM_H_
#define LOCKSTEP_VERIFY_SELFTEST_PROGRAM_H_

#include "verify/base/io/json.h"

namespace lockstep::verify {

// {"digest": of the executable's bytes, "commit", "dirty", "compiler", "cpu"}.
// Without a digest where the system does not show the executable.
Json ProgramJson();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_PROGRAM_H_
