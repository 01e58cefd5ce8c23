// The process between the judge and a foreign program. To the judge it is the
// program: it dies the same death. Where the judge ends first, by whatever
// means, it ends the program and all that this has started.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_PROCESS_KEEPER_H_
#define LOCKSTEP_VERIFY_CANDIDATE_PROCESS_KEEPER_H_

#include <sys/types.h>

namespace lockstep::verify {

// Before the program is started: orphans among its descendants come to this
// process from now on.
void BecomeKeeper();

// Until the program has ended, or the other end of the pipe `lifeline` was
// closed, which the judge alone has. Only what is safe after a fork.
[[noreturn]] void Keep(pid_t program, int lifeline);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_PROCESS_KEEPER_H_
