// The process of one of our programs: what it inherited, and what it writes to
// stdout.
#ifndef LOCKSTEP_VERIFY_CLI_PROCESS_H_
#define LOCKSTEP_VERIFY_CLI_PROCESS_H_

#include "reference/contract/status.h"

namespace lockstep::verify::cli {

// Holds the standard descriptors, so that no file of Lockstep becomes one of
// them. A reader that has gone away and a file above its limit (ulimit -f)
// become errors of write and do not end the process. Errors: too small a stack,
// an OpenMP variable that the runtime library would die of.
Status PrepareProcess();

// Removes the file in /dev/shm by which libomp marks a process of this user. A
// process that ends without the library's own end leaves it, and a later one of
// the same number that finds it empty dies of SIGBUS.
void ForgetTeam(int process);

// The variable by which the user says how threads wait between calls; null:
// none does.
const char* WaitingVariable();
// SleepBetweenCalls(), unless the user says otherwise.
void LetThreadsSleep();

// Starts so many threads for each of so many cases that are judged side by
// side, with the stacks that OpenMP gives them. libomp ends the process (134)
// where one cannot be started, so they are tried in a child first. 0:
// DefaultThreads(). Errors: they cannot run at once.
Status CheckThreads(int threads, int jobs = 1);

// Flushes stdout. Errors: it could not take everything, other than for a reader
// that has gone away, as `head` does.
Status FinishStdout();

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_PROCESS_H_
